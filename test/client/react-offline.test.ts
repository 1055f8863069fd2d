import { describe, expect, test } from 'bun:test'
import { createClient, type Storage } from 'homeport-client'
import { usePricingPlans, useProfile, useSettings, useSubscription } from 'homeport-client/react'
import { act } from 'react'
import { openWorld, renderHook } from '../support/render-hooks.ts'

describe('without a connection', () => {
  test('hooks show kept values immediately, marked as stale', async () => {
    const { client, server } = await startOffline()
    const useAll = () =>
      [useSubscription(), useProfile(), useSettings(), usePricingPlans()] as const
    const hook = await renderHook(useAll, { client })
    await hook.until((all) => all.every(({ data }) => data !== undefined))
    const [subscription, profile, settings, plans] = hook.current
    expect(hook.current.map(({ isStale }) => isStale)).toEqual([true, true, true, true])
    expect(subscription.data?.entitlements).toMatchObject([{ id: 'pro', active: true }])
    expect(subscription.asOf).toBeInstanceOf(Date)
    expect([profile.data?.email, settings.data?.hardPaywall]).toEqual(['ann@example.com', false])
    expect(plans.data?.map(({ code }) => code)).toEqual(['free', 'pro'])
    server.goOnline()
    await act(() => Promise.all(hook.current.map(({ reload }) => reload())))
    expect(hook.current.map(({ isStale, error }) => [isStale, error])).toEqual(
      Array(4).fill([false, null]),
    )
    await hook.unmount()
  })

  test('access ends on the screen when the subscription ends', async () => {
    const { client } = await startOffline({ endsIn: 1_500 })
    const hook = await renderHook(useSubscription, { client })
    await hook.until(({ data }) => data?.entitlements[0]?.active === true)
    await hook.until(({ data }) => data?.entitlements[0]?.active === false)
    expect(hook.current.isStale).toBe(true)
    await hook.unmount()
  })
})

/** A new start of the app, with the values that an earlier start kept. */
async function startOffline({ endsIn = 86_400_000 } = {}) {
  const items = new Map<string, string>()
  const storage: Storage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  }
  let isOnline = true
  const { server, ann } = openWorld()
  const start = () =>
    createClient({
      baseUrl: server.url,
      storage,
      fetch: (url, init) =>
        isOnline ? server.fetch(url, init) : Promise.reject(new Error('offline')),
    })
  const client = start()
  await client.login({ email: ann.email, password: 'correct horse battery' })
  const expiresAt = new Date(Math.ceil((Date.now() + endsIn) / 1_000) * 1_000).toISOString()
  server.grantSubscription(ann, { entitlement: 'pro', expiresAt })
  await client.readSubscription()
  await Promise.all([client.readProfile(), client.readAppSettings(), client.readPricingPlans()])
  isOnline = false
  const goOnline = () => {
    isOnline = true
  }
  return { client: start(), server: { ...server, goOnline } }
}
