namespace Acme.Orders
{
    public class OrderController
    {
        private readonly IOrderService _service;

        public OrderController(IOrderService service)
        {
            _service = service;
        }

        public void Post(Order order)
        {
            _service.Submit(order);
        }
    }

    public class OrderPage
    {
        private readonly OrderController _controller = new OrderController(null);

        public void Click(Order order)
        {
            _controller.Post(order);
        }
    }
}
