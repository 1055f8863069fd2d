import { type EventFixture, lifecycle, ms } from '../billing.ts'

export const ANN = 'user-1'
export const BOB = 'user-2'

/** Whether the user has access to `pro` on `day`, and the status of the best purchase. */
export type Expected = [day: number, user: string, access: boolean, status?: string]
export type Flow = { name: string; events: EventFixture[]; expected: Expected[] }

export const initial = (fields = {}) =>
  lifecycle(ANN, 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30, ...fields })
export const renewal = (at: number, until: number, fields = {}) =>
  lifecycle(ANN, 'RENEWAL', at, { purchased_day: at, expiration_day: until, ...fields })
export const cancellation = (at: number, reason: string, fields = {}) =>
  lifecycle(ANN, 'CANCELLATION', at, {
    cancel_reason: reason,
    purchased_day: 0,
    expiration_day: 30,
    ...fields,
  })
export const expiration = (at: number, reason: string, fields = {}) =>
  lifecycle(ANN, 'EXPIRATION', at, {
    expiration_reason: reason,
    purchased_day: 0,
    expiration_day: at,
    ...fields,
  })
export const issue = (at: number, grace: number | null, fields = {}) =>
  lifecycle(ANN, 'BILLING_ISSUE', at, {
    purchased_day: 0,
    expiration_day: 30,
    grace_period_expiration_at_ms: grace === null ? null : ms(grace),
    ...fields,
  })
export const play = { store: 'PLAY_STORE' }
