namespace Acme.Orders
{
    public interface IOrderService
    {
        void Submit(Order order);
    }

    public interface IOrderRepository
    {
        Order Load(int id);
        void Save(Order order);
    }
}
