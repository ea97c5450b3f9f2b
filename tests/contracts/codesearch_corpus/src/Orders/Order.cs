using System;

namespace Acme.Orders
{
    public enum OrderState
    {
        Draft,
        Submitted,
    }

    public class Order
    {
        public int Id { get; set; }
        public OrderState State { get; set; }
        public event EventHandler Changed;

        public decimal Total()
        {
            return 0m;
        }
    }

    public struct Money
    {
        public decimal Amount;
    }

    public record Receipt(int OrderId, decimal Total);

    public delegate void OrderCallback(Order order);
}
