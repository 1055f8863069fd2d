/** An amount in whole units of a currency. */
export type DisplayPrice = { amount: number; currency: string }

/** One sum for each currency. */
export function addPrices(prices: DisplayPrice[]): DisplayPrice[] {
  return [...Map.groupBy(prices, ({ currency }) => currency)].map(([currency, parts]) => {
    const thousandths = parts.reduce((sum, { amount }) => sum + Math.round(amount * 1000), 0)
    return { currency, amount: thousandths / 1000 }
  })
}
