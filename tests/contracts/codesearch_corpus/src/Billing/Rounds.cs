namespace Acme.Billing
{
    public class Rounds
    {
        public void There(int count)
        {
            Back(count);
        }

        public void Back(int count)
        {
            There(count);
        }
    }
}
