import { AppError } from '../../lib/errors.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import type { Rates } from './service.ts'

const REFRESH_TIMEOUT_MS = 30_000

const refresh = defineAction({
  name: 'rates.refresh',
  summary: 'Refresh the currency rates now',
  label: 'Refreshed currency rates',
  role: 'operator',
  input: closedObject({}),
  console: 'rates/refresh',
  form: { verb: 'Refresh now' },
  async work({ rates }: { rates: Rates }, _input, { caller }) {
    const outcome = await rates.refresh(AbortSignal.timeout(REFRESH_TIMEOUT_MS))
    // The console shows the reason itself.
    if ('reason' in outcome && caller.via === 'command')
      throw new AppError('unavailable', `The rates were not refreshed: ${outcome.reason}.`)
    return outcome
  },
  audit: (outcome) => ({ after: outcome }),
  command: {
    print(outcome) {
      if (outcome.outcome !== 'stored') return 'The provider has no new rates.'
      const held = outcome.held.length > 0 ? ` Unconfirmed: ${outcome.held.join(', ')}.` : ''
      const kept = Object.entries(outcome.kept ?? {}).map(([code, date]) => `${code} of ${date}`)
      const missing =
        kept.length > 0 ? ` Missing, so the last rate is kept: ${kept.join(', ')}.` : ''
      return `Stored the rates of ${outcome.date}.${held}${missing}`
    },
  },
})

export const rateActions = [refresh]
