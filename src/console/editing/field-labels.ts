import { describePath, languageName } from '../../lib/text/rule-labels.ts'
import { LOCALE, words } from '../format.ts'

/** Labels of fields whose names would be unclear. */
const LABELS: Record<string, string> = { isEnterprise: 'Sold by sales team' }

/** Fields of a plan whose label makes the schema's description redundant. */
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

/** A text of a plan or a question in a language. */
const TEXT_PATH = /^(.+)\.([a-z]+)\.([a-z]{2,3}(?:-\w+)*)$/i
/** A field of a plan, whose code has an underscore or a digit, or of a question. */
const ITEM_PATH = /^(\w*[_\d]\w*|.*[\s?].*)\.([a-z.]+)$/i

/** An e-mail, such as `reset-password`. */
const EMAIL = /^[a-z]+(-[a-z]+)+$/

/** `iOS supported version, rule 1`; `pro_year › Badge (German)` for a text of a plan or a question. */
export function changeLabel(path: string): string {
  const [, id, field, language = ''] = TEXT_PATH.exec(path) ?? ITEM_PATH.exec(path) ?? []
  const item = id && EMAIL.test(id) ? words(id) : id
  if (item && field && language === '') return `${item} › ${fieldLabel(field)}`
  if (item && field && languageName(language) !== language)
    return `${item} › ${fieldLabel(field)} (${languageName(language)})`
  const described = describePath(path)
  return /^[a-z.-]+(, rule \d+)?$/i.test(described) ? words(described) : described
}

/** The description of a field, unless its label says the same. */
export function fieldHint(name: string, description?: string): string | undefined {
  return CLEAR.has(name) ? undefined : description?.replaceAll('`', '')
}

/** The phone keyboard for a field. */
export function keyboardFor(name: string, type = 'string') {
  if (type === 'integer') return 'numeric'
  if (type === 'number') return 'decimal'
  if (/email$/i.test(name)) return 'email'
  return /(link|url)$/i.test(name) ? 'url' : 'text'
}

type Suggestion = [value: string, name: string]

/** Common values of a field that also accepts other values. */
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
    ['3 months', 'Quarterly'],
    ['year', 'Yearly'],
    ['lifetime', 'Lifetime'],
  ],
  source: () => [
    ['none', 'Not for sale'],
    ['revenuecat', 'RevenueCat'],
    ['app_store', 'App Store'],
    ['play_store', 'Google Play'],
    ['stripe', 'By card (Stripe)'],
  ],
  currency: () => {
    const names = new Intl.DisplayNames(LOCALE, { type: 'currency' })
    return Intl.supportedValuesOf('currency').map((code) => [
      code.toLowerCase(),
      `${code}, ${names.of(code)}`,
    ])
  },
}
