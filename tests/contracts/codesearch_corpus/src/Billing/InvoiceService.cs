using Acme.Orders;

namespace Acme.Billing
{
    public class InvoiceService
    {
        // Submit of another class, which must not be taken for that of orders.
        public void Submit(Order order)
        {
            Print(order.Total());
        }

        private void Print(decimal amount)
        {
        }

        public void Run(Order order)
        {
            this.Submit(order);
        }
    }
}
