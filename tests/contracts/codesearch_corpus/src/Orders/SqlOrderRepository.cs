namespace Acme.Orders
{
    public class SqlOrderRepository : IOrderRepository
    {
        public Order Load(int id)
        {
            return new Order();
        }

        public void Save(Order order)
        {
            Write("dbo.SaveOrder", order.Id);
        }

        private void Write(string procedure, int id)
        {
        }
    }
}
