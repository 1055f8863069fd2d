import { words } from '../format.ts'

/** Labels of fields whose names are not words for people. */
const LABELS: Record<string, string> = { isEnterprise: 'Sold by sales team' }

/** Fields of a plan whose label says what the schema's description says. */
const CLEAR = new Set([
  'type',
  'duration',
  'source',
  'trialDays',
  'appLimit',
  'keywordLimit',
  'competitorLimitPerApp',
  'aiMonthlyCreditLimit',
  'storefrontLimit',
  'price',
  'currency',
  'isEnterprise',
  'highlighted',
])

export function fieldLabel(name: string): string {
  return LABELS[name] ?? words(name)
}

/** The description of a field, unless its label says the same. */
export function fieldHint(name: string, description?: string): string | undefined {
  return CLEAR.has(name) ? undefined : description?.replaceAll('`', '')
}

type Suggestion = [value: string, name: string]

/** Usual values of a field that accepts others too. */
export function suggestionsFor(name: string): Suggestion[] {
  return SUGGESTIONS[name]?.() ?? []
}

const SUGGESTIONS: Record<string, () => Suggestion[]> = {
  type: () => [
    ['subscription', 'Subscription'],
    ['one_time', 'One-time purchase'],
  ],
  duration: () => [
    ['week', 'Weekly'],
    ['month', 'Monthly'],
    ['year', 'Yearly'],
  ],
  source: () => [
    ['none', 'Not for sale'],
    ['revenuecat', 'RevenueCat'],
    ['app_store', 'App Store'],
    ['play_store', 'Google Play'],
  ],
  currency: () => {
    const names = new Intl.DisplayNames(undefined, { type: 'currency' })
    return Intl.supportedValuesOf('currency').map((code) => [
      code.toLowerCase(),
      `${code}, ${names.of(code)}`,
    ])
  },
}
