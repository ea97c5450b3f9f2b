using System;

namespace Acme.Orders
{
    [Service("orders")]
    public class OrderService : IOrderService
    {
        private readonly IOrderRepository _repository;

        public OrderService(IOrderRepository repository)
        {
            _repository = repository;
        }

        public void Submit(Order order)
        {
            Validate(order);
            _repository.Save(order);
        }

        public void Submit(Order order, int retries)
        {
            for (int attempt = 0; attempt < retries; attempt++)
            {
                if (attempt > 0 && order.Id > 0)
                {
                    Submit(order);
                }
            }
        }

        [Obsolete("use Submit")]
        private void Validate(Order order)
        {
            if (order == null)
            {
                throw new ArgumentNullException("order");
            }
            if (order.Total() < 0)
            {
                throw new InvalidOperationException("negative total");
            }
        }
    }
}
