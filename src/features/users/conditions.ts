import type { ConditionList } from '../../platform/conditions/condition.ts'
import { growth } from '../../platform/conditions/measure.ts'

export const userConditions: ConditionList = {
  'sign-ins-refused': {
    title: 'Many sign-ins fail',
    advice:
      'Someone may be guessing passwords. Failed attempts are slowed down for each account and network.',
    severity: 'warn',
    minutes: 10,
    measure: growth('homeport_denials_total', 10, {
      reason: 'wrong_password|wrong_code|unknown_account',
    }),
    limit: { above: 600, unit: 'in ten minutes' },
  },
}
