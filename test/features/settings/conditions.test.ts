import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createAudienceReader } from '../../../src/features/settings/audience.ts'
import type { Audience, Condition, Rule } from '../../../src/features/settings/rules/conditions.ts'
import {
  explainSettings,
  listTraits,
  overridesFor,
  type Setting,
} from '../../../src/features/settings/rules/resolution.ts'
import { AppError } from '../../../src/lib/errors.ts'

type When = Condition

const ANYONE: Audience = {
  platform: null,
  version: null,
  languages: [],
  country: null,
  plan: null,
  id: null,
}
const TRAITS: [When, ReturnType<typeof listTraits>][] = [
  [{}, []],
  [{ platform: 'ios' }, ['platform']],
  [{ minVersion: '1' }, ['version']],
  [{ maxVersion: '1' }, ['version']],
  [{ languages: ['de'] }, ['language']],
  [{ countries: ['DE'] }, ['country']],
  [{ belowVersion: '1' }, ['version']],
  [{ plans: ['pro'] }, ['plan']],
  [{ percent: 0 }, ['id']],
  [{ percent: 5, platform: 'ios' }, ['platform', 'id']],
]
const ID_COUNT = 10_000
const IDS = Array.from({ length: ID_COUNT }, (_, at) => `person-${at}`)

test.each<[When, Partial<Audience>, boolean]>([
  [{}, {}, true],
  [{ platform: 'ios' }, { platform: 'ios' }, true],
  [{ platform: 'ios' }, { platform: 'android' }, false],
  [{ platform: 'ios' }, {}, false],
  [{ minVersion: '2.4.0' }, { version: '2.4' }, true],
  [{ minVersion: '2.4.0' }, { version: '2.10' }, true],
  [{ minVersion: '2.4.0' }, { version: '2.3.9' }, false],
  [{ minVersion: '0' }, {}, false],
  [{ maxVersion: '2.4' }, { version: '2.4.0' }, true],
  [{ maxVersion: '2.4' }, { version: '2.4.1' }, false],
  [{ maxVersion: '2.4' }, {}, false],
  [{ belowVersion: '2.4' }, { version: '2.3.9' }, true],
  [{ belowVersion: '2.4' }, { version: '2.4.0' }, false],
  [{ belowVersion: '2.4' }, {}, false],
  [{ minVersion: '2', maxVersion: '3' }, { version: '2.9.9' }, true],
  [{ minVersion: '2', maxVersion: '3' }, { version: '3.0.1' }, false],
  [{ languages: ['pt'] }, { languages: ['pt-BR'] }, true],
  [{ languages: ['PT-br'] }, { languages: ['pt-BR'] }, true],
  [{ languages: ['pt-BR'] }, { languages: ['pt'] }, false],
  [{ languages: ['pt-BR'] }, { languages: ['pt-PT'] }, false],
  [{ languages: ['p'] }, { languages: ['pt'] }, false],
  [{ languages: ['iw'] }, { languages: ['he-IL'] }, true],
  [{ languages: ['zh-TW'] }, { languages: ['zh-Hant-TW'] }, true],
  [{ languages: ['zh-Hant'] }, { languages: ['zh-TW'] }, true],
  [{ languages: ['zh-Hans'] }, { languages: ['zh-TW'] }, false],
  [{ languages: ['de', 'fr'] }, { languages: ['fr', 'en'] }, true],
  [{ languages: ['de'] }, { languages: ['fr', 'de'] }, false],
  [{ languages: ['de'] }, {}, false],
  [{ languages: [] }, { languages: ['de'] }, false],
  [{ countries: ['BR', 'PT'] }, { country: 'PT' }, true],
  [{ countries: ['BR'] }, { country: 'PT' }, false],
  [{ countries: ['BR'] }, {}, false],
  [{ plans: ['pro', 'max'] }, { plan: 'max' }, true],
  [{ plans: ['pro', 'max'] }, { plan: 'free' }, false],
  [{ plans: ['pro'] }, {}, false],
  [{ percent: 100 }, {}, true],
  [{ percent: 99.9 }, {}, false],
  [{ percent: 100 }, { id: 'anybody' }, true],
  [{ percent: 0 }, { id: 'anybody' }, false],
  [{ platform: 'ios', percent: 100 }, { platform: 'ios', id: 'x' }, true],
  [{ platform: 'ios', percent: 100 }, { platform: 'web', id: 'x' }, false],
  [
    { platform: 'ios', countries: ['BR'], languages: ['pt'], minVersion: '2' },
    { platform: 'ios', country: 'BR', languages: ['pt-BR'], version: '2.0.1' },
    true,
  ],
  [
    { platform: 'ios', countries: ['BR'], languages: ['pt'], minVersion: '2' },
    { platform: 'ios', country: 'BR', languages: ['pt-BR'], version: '1.9' },
    false,
  ],
])('the condition %j for %j holds: %p', (when, audience, holds) => {
  expect(isIncluded(when, { ...ANYONE, ...audience })).toBe(holds)
})

test.each(TRAITS)('the condition %j depends on %j', (when, traits) => {
  expect(listTraits([settingWith(when)])).toEqual(traits)
})

test('lists each trait that settings depend on once, and none without rules', () => {
  const some = [{ platform: 'ios' as const }, { percent: 5, minVersion: '1' }, { percent: 9 }]
  expect(listTraits(some.map((when) => settingWith(when)))).toEqual(['platform', 'version', 'id'])
  expect(listTraits([{ ...settingWith({}), rules: [] }])).toEqual([])
  expect(listTraits([])).toEqual([])
})

test('uses the value of the first rule that matches, or else the default value', () => {
  const rule = fc.record({
    platform: fc.constantFrom('ios' as const, 'android' as const),
    countries: fc.subarray(['BR', 'DE', 'PT'], { minLength: 1 }),
    value: fc.integer(),
  })
  const audience = fc.record({
    platform: fc.constantFrom('ios', 'android', null),
    country: fc.constantFrom('BR', 'DE', 'FR', null),
  })
  const property = fc.property(fc.array(rule), fc.integer(), audience, (rules, value, sample) => {
    const first = rules.find(
      ({ platform, countries }) =>
        platform === sample.platform && countries.includes(sample.country ?? ''),
    )
    const setting = {
      ...settingWith({}),
      value,
      rules: rules.map(({ value, ...when }): Rule => ({ when, value })),
    }
    const overrides = overridesFor([setting], { ...ANYONE, ...sample })
    expect(overrides).toEqual(first ? { custom: first.value } : {})
    const [explained] = explainSettings([setting], { ...ANYONE, ...sample })
    expect(explained?.value).toBe(first?.value ?? value)
  })
  fc.assert(property)
})

describe('users in a percentage rollout', () => {
  const id = fc.string({ minLength: 1, maxLength: 200 })
  const name = fc.stringMatching(/^[a-z][A-Za-z0-9]{0,20}$/)
  const percent = fc.double({ min: 0, max: 100, noNaN: true })

  test('do not depend on their other traits', () => {
    const about = fc.record({
      platform: fc.constantFrom('ios', 'web', null),
      version: fc.constantFrom('1', '2.4.0', null),
      languages: fc.subarray(['de', 'en']),
      country: fc.constantFrom('BR', null),
    })
    const property = fc.property(name, percent, id, about, about, (feature, share, user, a, b) => {
      const [once, again] = [a, b].map((audience) =>
        isIncluded({ percent: share }, { ...ANYONE, ...audience, id: user }, feature),
      )
      expect(once).toBe(again as boolean)
    })
    fc.assert(property)
  })

  test('stay included when the percentage grows', () => {
    const property = fc.property(name, percent, percent, id, (feature, a, b, user) => {
      const [less, more] = [Math.min(a, b), Math.max(a, b)]
      const isIn = (share: number) =>
        isIncluded({ percent: share }, { ...ANYONE, id: user }, feature)
      if (isIn(less)) expect(isIn(more)).toBe(true)
      expect([isIn(0), isIn(100)]).toEqual([false, true])
    })
    fc.assert(property)
  })

  test('match the percentage and are evenly distributed', () => {
    const rules = Array.from({ length: 10 }, (_, tenth) => {
      return { when: { percent: tenth * 10 + 10 }, value: tenth }
    })
    const counts = Array<number>(10).fill(0)
    for (const id of IDS) {
      const { custom } = overridesFor([{ ...settingWith({}), rules }], { ...ANYONE, id })
      counts[Number(custom)] = (counts[Number(custom)] ?? 0) + 1
    }
    for (const count of counts) {
      expect(Math.abs(count - ID_COUNT / 10)).toBeLessThan(0.012 * ID_COUNT)
    }
    expect(idsIn('custom', 1).size).toBeWithin(70, 130)
    expect(idsIn('custom', 33.3).size).toBeWithin(3_230, 3_430)
  })

  test('are independent of those of another setting', () => {
    const [one, other] = [idsIn('newPaywall', 50), idsIn('newOnboarding', 50)]
    const both = one.intersection(other).size
    expect(Math.abs(both - ID_COUNT / 4)).toBeLessThan(0.02 * ID_COUNT)
  })
})

/** The ids that are included in a percentage rollout of a setting. */
function idsIn(feature: string, percent: number): Set<string> {
  return new Set(IDS.filter((id) => isIncluded({ percent }, { ...ANYONE, id }, feature)))
}

function isIncluded(when: When, audience: Audience, feature = 'custom'): boolean {
  return overridesFor([settingWith(when, feature)], audience)[feature] === true
}

function settingWith(when: When, key = 'custom'): Setting {
  return { key, value: false, rules: [{ when, value: true }], rollout: key }
}

test('treats a refused session as anonymous, but not one that cannot be checked', async () => {
  const readAudience = (error: AppError) => {
    const checkSession = () => Promise.reject(error)
    const audience = createAudienceReader({
      countryHeader: null,
      findCountry: () => null,
      checkSession,
      findPlanCode: async () => 'pro',
    })
    const headers = { authorization: 'Bearer a.b.c', 'device-id': 'device' }
    return audience.read(new Request('http://localhost/', { headers }), ['id'])
  }
  const refused = new AppError('unauthenticated', 'x', { denial: { reason: 'forged' } })
  expect((await readAudience(refused)).id).toBe('device')
  await expect(readAudience(new AppError('unavailable', 'x'))).rejects.toMatchObject({
    code: 'unavailable',
  })
})
