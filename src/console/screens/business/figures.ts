import { number } from '../../format.ts'
import { type Business, percent } from './labels.ts'

type MonthFigures = Business['months'][number]

export type Figure = {
  name: string
  help: string
  measure: (month: MonthFigures) => number
  isAmount?: true
  /** The value at the end of the month; other figures count the month's events. */
  isBalance?: true
  /** Whether an increase is bad. */
  isBad?: true
  note?: (now: MonthFigures, last: MonthFigures, money: (amount: number) => string) => string
}

export const DEFAULT_FIGURE = 'revenue'
/** The figures by their name in the URL. */
export const FIGURES: Record<string, Figure> = {
  active: {
    name: 'Active subscriptions',
    help: 'Paid subscriptions that have not ended, at the end of the month. Includes cancelled ones until they end, and grace periods. Trials and one-time purchases do not count.',
    measure: ({ active }) => active,
    isBalance: true,
  },
  revenue: {
    name: 'Revenue',
    help: 'What customers paid in the month, before fees and taxes, minus refunds made in the month. Includes one-time purchases.',
    measure: ({ paid, refunded }) => paid - refunded,
    isAmount: true,
    note: ({ paid, refunded }, _, money) => `${money(paid)} paid, ${money(refunded)} refunded`,
  },
  recurring: {
    name: 'Monthly recurring revenue',
    help: 'What active subscriptions bring in per month: a yearly price counts as one twelfth.',
    measure: ({ recurring }) => recurring,
    isAmount: true,
    isBalance: true,
  },
  new: {
    name: 'New subscriptions',
    help: 'Subscriptions that were paid for the first time, including after a trial.',
    measure: (month) => month.new,
  },
  churned: {
    name: 'Churned',
    help: 'Subscriptions whose paid period ended without a renewal, or that were refunded. The rate is relative to those active at the start of the month.',
    measure: ({ churned }) => churned,
    isBad: true,
    note: ({ churned }, { active }) =>
      active > 0 ? `${percent(churned / active)} of the active subscriptions` : '',
  },
  recovered: {
    name: 'Recovered',
    help: 'Subscriptions that were paid again after they had ended: the store’s retry succeeded, or the customer came back. “Saved” counts subscriptions paid late, but before they ended.',
    measure: ({ recovered }) => recovered,
    note: ({ saved }) => `${number(saved)} saved before ending`,
  },
  trials: {
    name: 'Active trials',
    help: 'Free trials that have not ended, at the end of the month.',
    measure: ({ trials }) => trials,
    isBalance: true,
  },
  trialStarts: {
    name: 'Trials started',
    help: 'Free trials that began in the month. “Converted” counts first payments after a trial, whenever it began.',
    measure: ({ trialStarts }) => trialStarts,
    note: ({ converted }) => `${number(converted)} converted`,
  },
}
