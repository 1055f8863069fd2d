import { dataCommand } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import type { Rates } from './service.ts'

type Needs = { rates: Rates }

const ratesShow = dataCommand({
  name: 'rates show',
  summary: 'Show the current currency rates',
  work: ({ rates }: Needs) => rates.read(),
  print: ({ baseCode, rates, updatedAt }) =>
    [
      `1 ${baseCode}, published ${updatedAt}`,
      ...Object.entries(rates).map(([code, rate]) => `${code}\t${rate}`),
    ].join('\n'),
})

const ratesRefresh = dataCommand({
  name: 'rates refresh',
  summary: 'Refresh the currency rates now',
  work: async ({ rates }: Needs) => {
    const outcome = await rates.refresh(AbortSignal.timeout(30_000))
    if ('reason' in outcome) {
      throw new AppError('unavailable', `The rates were not refreshed: ${outcome.reason}.`)
    }
    return outcome
  },
  print: (outcome) => {
    if (outcome.outcome === 'unchanged') return 'The provider has no new rates.'
    const held = outcome.held.length > 0 ? ` Unconfirmed: ${outcome.held.join(', ')}.` : ''
    const kept = Object.entries(outcome.kept ?? {}).map(([code, date]) => `${code} of ${date}`)
    const missing = kept.length > 0 ? ` Missing, so the last rate is kept: ${kept.join(', ')}.` : ''
    return `Stored the rates of ${outcome.date}.${held}${missing}`
  },
  changes: (outcome) => outcome,
})

export const ratesCommands = [ratesShow, ratesRefresh]
