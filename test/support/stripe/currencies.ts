const ZERO_DECIMALS = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ')
const THREE_DECIMALS = 'bhd jod kwd omr tnd'.split(' ')
/** Currencies without decimals in practice, but with two in the API. */
const ALWAYS_WHOLE = ['isk', 'ugx']

/** The number of decimals of an amount in the API. */
function decimalsOf(currency: string): number {
  if (ZERO_DECIMALS.includes(currency)) return 0
  return THREE_DECIMALS.includes(currency) ? 3 : 2
}

/** An amount of the API in units of the currency. */
export function unitsOf(amount: number, currency: string): number {
  return amount / 10 ** decimalsOf(currency)
}

/** Throws if Stripe would refuse the amount. */
export function checkAmount(amount: number, currency: string) {
  const step = ALWAYS_WHOLE.includes(currency) ? 100 : decimalsOf(currency) === 3 ? 10 : 1
  if (!Number.isInteger(amount) || amount < 0 || amount % step !== 0) {
    throw new Error(`${amount} is not an amount in ${currency}: it must be a multiple of ${step}`)
  }
}
