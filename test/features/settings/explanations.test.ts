import { expect, test } from 'bun:test'
import type { Audience, Condition } from '../../../src/features/settings/rules/conditions.ts'
import { areExclusive, guarantee } from '../../../src/features/settings/rules/implications.ts'
import { explainSettings } from '../../../src/features/settings/rules/resolution.ts'
import { listWarnings } from '../../../src/features/settings/rules/warnings.ts'
import { describeConditions } from '../../../src/lib/text/rule-labels.ts'

const ANN: Audience = {
  platform: 'ios',
  version: '3.1',
  languages: ['de-AT', 'en'],
  country: 'AT',
  plan: 'pro',
  id: 'device-1',
}
const UNKNOWN: Audience = {
  platform: null,
  version: null,
  languages: [],
  country: null,
  plan: null,
  id: null,
}

test.each<[Condition, string, string]>([
  [{}, 'it applies to everyone', 'it applies to everyone'],
  [
    { platform: 'android' },
    'platform is iOS, the rule requires Android',
    'platform is unknown, the rule requires Android',
  ],
  [{ platform: 'ios' }, 'platform is iOS', 'platform is unknown, the rule requires iOS'],
  [
    { minVersion: '3.2' },
    'version is 3.1, the rule requires 3.2 or newer',
    'version is unknown, the rule requires 3.2 or newer',
  ],
  [
    { minVersion: '3.1.0' },
    'version is 3.1',
    'version is unknown, the rule requires 3.1.0 or newer',
  ],
  [
    { belowVersion: '3.1' },
    'version is 3.1, the rule requires a version below 3.1',
    'version is unknown, the rule requires a version below 3.1',
  ],
  [{ maxVersion: '3.1' }, 'version is 3.1', 'version is unknown, the rule requires 3.1 or older'],
  [
    { languages: ['fr', 'pt-BR'] },
    'language is de-AT, the rule requires fr or pt-BR',
    'language is unknown, the rule requires fr or pt-BR',
  ],
  [{ languages: ['de'] }, 'language is de-AT', 'language is unknown, the rule requires de'],
  [
    { countries: ['DE'] },
    'country is AT, the rule requires DE',
    'country is unknown, the rule requires DE',
  ],
  [{ countries: ['AT'] }, 'country is AT', 'country is unknown, the rule requires AT'],
  [
    { plans: ['free'] },
    'plan is pro, the rule requires free',
    'plan is none (signed out), the rule requires free',
  ],
  [{ plans: ['pro'] }, 'plan is pro', 'plan is none (signed out), the rule requires pro'],
  [
    { percent: 20 },
    '20% does not include this user (35.9)',
    '20% does not include requests without a user or device id',
  ],
  [
    { percent: 50 },
    '50% includes this user (35.9)',
    '50% does not include requests without a user or device id',
  ],
  [
    { countries: ['DE'], platform: 'ios', percent: 20 },
    'country is AT, the rule requires DE; 20% does not include this user (35.9)',
    'platform is unknown, the rule requires iOS; country is unknown, the rule requires DE; 20% does not include requests without a user or device id',
  ],
])('explains the conditions %j', (when, known, unknown) => {
  expect([reasonFor(when, ANN), reasonFor(when, UNKNOWN)]).toEqual([known, unknown])
})

test('names the first rule that matches and those that were not tried', () => {
  const rules = ['DE', 'AT', 'AT'].map((country, at) => {
    return { when: { countries: [country] }, value: at }
  })
  const [explained] = explainSettings([{ key: 'limit', value: 9, rules, rollout: 'limit' }], ANN)
  expect(explained).toEqual({
    key: 'limit',
    value: 1,
    reasons: [
      'Rule 1 did not match: country is AT, the rule requires DE.',
      'Rule 2 matched: country is AT.',
      'Rule 3 was not tried, because rule 2 matched.',
    ],
  })
})

test.each<[Condition, string]>([
  [{}, 'for all users'],
  [{ countries: ['DE'], percent: 20 }, 'in Germany for 20% of users'],
  [
    { platform: 'ios', minVersion: '2', belowVersion: '3', maxVersion: '4', languages: ['pt-BR'] },
    'on iOS from 2 below 3 up to 4 in Brazilian Portuguese',
  ],
  [{ plans: ['pro', 'max'] }, 'on the plan pro or max'],
  [
    { countries: ['DE', 'AT', 'CH', 'FR', 'IT', 'ES', 'XX'] },
    'in Germany, Austria, Switzerland, France, Italy and 2 more',
  ],
  [{ languages: ['invalid-tag-that-is-too-long'] }, 'in invalid-tag-that-is-too-long'],
])('describes the conditions %j as %p', (when, words) => {
  expect(describeConditions({ when, value: 1 })).toBe(words)
})

test.each<[Condition, Condition, boolean]>([
  [{}, {}, true],
  [{ countries: ['DE'] }, {}, true],
  [{}, { countries: ['DE'] }, false],
  [{ countries: ['DE'] }, { countries: ['DE', 'AT'] }, true],
  [{ countries: ['DE', 'AT'] }, { countries: ['DE'] }, false],
  [{ languages: ['pt-BR'] }, { languages: ['pt'] }, true],
  [{ languages: ['pt'] }, { languages: ['pt-BR'] }, false],
  [{ plans: ['pro'] }, { plans: ['pro', 'max'] }, true],
  [{ platform: 'ios' }, { platform: 'ios' }, true],
  [{ platform: 'ios' }, { platform: 'web' }, false],
  [{ minVersion: '3.1' }, { minVersion: '3.0' }, true],
  [{ minVersion: '2.9' }, { minVersion: '3.0' }, false],
  [{ belowVersion: '3' }, { maxVersion: '3' }, true],
  [{ maxVersion: '3' }, { belowVersion: '3' }, false],
  [{ maxVersion: '2.9' }, { belowVersion: '3' }, true],
  [{ percent: 10 }, { percent: 20 }, true],
  [{ percent: 30 }, { percent: 20 }, false],
  [{}, { percent: 100 }, true],
])('that %j guarantees %j is %p', (given, when, isGuaranteed) => {
  expect(guarantee([given], when)).toBe(isGuaranteed)
})

test.each<[Condition, Condition, boolean]>([
  [{}, {}, false],
  [{ platform: 'ios' }, { platform: 'web' }, true],
  [{ countries: ['DE'] }, { countries: ['AT'] }, true],
  [{ countries: ['DE', 'AT'] }, { countries: ['AT'] }, false],
  [{ plans: ['free'] }, { plans: ['pro'] }, true],
  [{ languages: ['pt'] }, { languages: ['pt-BR'] }, false],
  [{ languages: ['pt-PT'] }, { languages: ['pt-BR'] }, true],
  [{ minVersion: '3' }, { belowVersion: '3' }, true],
  [{ minVersion: '3' }, { maxVersion: '3' }, false],
  [{ maxVersion: '2' }, { minVersion: '3' }, true],
  [{ percent: 0 }, {}, true],
  [{ percent: 10 }, { percent: 20 }, false],
])('that %j and %j exclude each other is %p', (a, b, isExclusive) => {
  expect([areExclusive(a, b), areExclusive(b, a)]).toEqual([isExclusive, isExclusive])
})

test('warns about rules that can never match', () => {
  const rules = [
    { when: { countries: ['DE'] }, value: 1 },
    { when: { plans: ['pro', 'pre'] }, value: 2 },
    { when: { plans: ['pro'], platform: 'ios' as const }, value: 3 },
  ]
  const setting = { key: 'limit', value: 0, rules, rollout: 'limit' }
  const rest = [
    'limit, rule 2 names the plan pre, which does not exist.',
    'limit, rule 3 never applies, because rule 2 matches first.',
  ]
  const known = { countryHeader: 'X-Country', planCodes: ['pro'] }
  expect(listWarnings([setting], known)).toEqual(rest)
  expect(listWarnings([setting], { ...known, countryHeader: null })).toEqual([
    'limit, rule 1 never applies, because COUNTRY_HEADER is not set: the country of users is unknown.',
    ...rest,
  ])
})

/** Why a rule with these conditions matches or does not. */
function reasonFor(when: Condition, audience: Audience): string {
  const setting = { key: 'custom', value: 0, rules: [{ when, value: 1 }], rollout: 'custom' }
  const [explained] = explainSettings([setting], audience)
  return explained?.reasons[0]?.replace(/^[^:]+: |\.$/g, '') ?? ''
}
