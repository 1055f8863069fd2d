import { describe, expect, test } from 'bun:test'
import { useSession, useSettings, useSubscription, useUpload } from 'homeport-client/react'
import { act } from 'react'
import { openWorld, renderHook, untilRendered } from '../support/render-hooks.ts'
import { simulateDelay } from '../support/until.ts'

const FILE = { name: 'a.txt', data: new TextEncoder().encode('text') }

describe('useSession', () => {
  test('follows sign-in and sign-out', async () => {
    const { client, ann, signIn } = openWorld()
    const hook = await renderHook(useSession, { client })
    await hook.until(({ isLoading }) => !isLoading)
    expect(hook.seen[0]).toMatchObject({ data: undefined, isLoading: true })
    expect(hook.current.data).toEqual({ isSignedIn: false, user: null })
    await act(() => signIn(ann))
    await hook.until(({ data }) => data?.user?.email === 'ann@example.com')
    await act(() => client.logout())
    await hook.until(({ data, isLoading }) => data?.isSignedIn === false && !isLoading)
    expect(hook.current.data?.user).toBeNull()
    await hook.unmount()
  })

  test('shows a changed profile, with no gap in between', async () => {
    const { client, ann, signIn } = openWorld()
    await signIn(ann)
    const hook = await renderHook(useSession, { client })
    await hook.until(({ data }) => data?.user?.profile.name === '')
    hook.seen.length = 0
    await act(() => client.changeProfile({ profile: { name: 'Ann' } }))
    await hook.until(({ data }) => data?.user?.profile.name === 'Ann')
    expect(hook.seen.every(({ data }) => data?.user)).toBe(true)
    await hook.unmount()
  })

  test('knows without a network that a user is signed in', async () => {
    const { client, server, ann, signIn } = openWorld()
    await signIn(ann)
    const undo = server.fail('*', { code: 'network_error', times: Number.POSITIVE_INFINITY })
    const hook = await renderHook(useSession, { client })
    await hook.until(({ error }) => error !== null)
    expect(hook.current.error?.code).toBe('network_error')
    expect(hook.current.data).toEqual({ isSignedIn: true, user: null })
    undo()
    await act(() => hook.current.reload())
    expect(hook.current).toMatchObject({ error: null, data: { user: { email: ann.email } } })
    await hook.unmount()
  })
})

describe('a hook', () => {
  test('does not show the former user once a provider is mounted again', async () => {
    const { client, ann, bob, signIn } = openWorld()
    await signIn(ann)
    const first = await renderHook(useSession, { client })
    await first.until(({ data }) => data?.user?.email === 'ann@example.com')
    await first.unmount()
    await signIn(bob)
    const second = await renderHook(useSession, { client })
    await second.until(({ data }) => data?.user?.email === 'bob@example.com')
    expect(JSON.stringify(second.seen)).not.toContain('ann@')
    expect(second.seen[0]).toMatchObject({ data: undefined, isLoading: true })
    await second.unmount()
  })

  test('reads again after an outage', async () => {
    const { client, server, ann, signIn } = openWorld()
    await signIn(ann)
    const times = Number.POSITIVE_INFINITY
    const undo = server.fail('readSubscription', { code: 'unavailable', times })
    const hook = await renderHook(useSubscription, { client, live: false })
    await hook.until(({ error }) => error !== null)
    undo()
    await hook.until(({ error, data }) => error === null && data !== undefined)
    await hook.unmount()
  })

  test('does not retry at once when Retry-After is too long for a timer', async () => {
    const { client, server, ann, signIn, countReads } = openWorld()
    await signIn(ann)
    const times = Number.POSITIVE_INFINITY
    server.fail('readSubscription', { code: 'unavailable', retryAfter: 60 * 86_400, times })
    const hook = await renderHook(useSubscription, { client, live: false })
    await hook.until(({ error }) => error !== null)
    const count = countReads('readSubscription')
    await act(() => simulateDelay(50))
    expect(countReads('readSubscription')).toBe(count)
    await hook.unmount()
  })
})

describe('useSubscription', () => {
  test('shows a purchase and its expiration as they happen', async () => {
    const { client, server, ann, signIn } = openWorld()
    await signIn(ann)
    const hook = await renderHook(useSubscription, { client })
    await untilRendered(() => server.countConnections() === 1, 'not 1 streams')
    await hook.until(({ data }) => data?.entitlements.length === 0)
    await act(async () => server.grantSubscription(ann, { entitlement: 'pro' }))
    await hook.until(({ data }) => data?.entitlements[0]?.active === true)
    await act(async () => server.advance({ minutes: 10 }))
    await act(async () => server.advance({ days: 31 }))
    await hook.until(({ data }) => data?.entitlements[0]?.active === false)
    await hook.unmount()
  })

  test('does not show a user another user’s purchases', async () => {
    const { client, server, ann, bob, signIn } = openWorld()
    server.grantSubscription(ann)
    await signIn(ann)
    const hook = await renderHook(useSubscription, { client })
    await hook.until(({ data }) => data?.entitlements[0]?.active === true)
    hook.seen.length = 0
    server.fail('readSubscription', { delay: 30 })
    await act(() => signIn(bob))
    await hook.until(({ data }) => data?.entitlements.length === 0)
    const active = hook.seen.filter(({ data }) => data?.entitlements[0]?.active)
    expect(active).toEqual([])
    await act(() => client.logout())
    await hook.until(({ data }) => data === null)
    await hook.unmount()
  })

  test('keeps what it shows when the same user signs in again', async () => {
    const { client, server, ann, signIn } = openWorld()
    server.grantSubscription(ann)
    await signIn(ann)
    const session = await renderHook(useSession, { client })
    const hook = await renderHook(useSubscription, { client })
    await session.until(({ data }) => data?.user?.email === 'ann@example.com')
    await hook.until(({ data }) => data?.entitlements[0]?.active === true)
    hook.seen.length = 0
    await act(() => signIn(ann))
    await hook.until(({ isLoading }) => !isLoading)
    expect(hook.seen.every(({ data }) => data?.entitlements[0]?.active === true)).toBe(true)
    await hook.unmount()
    await session.unmount()
  })

  test('ignores a late response for the previous user', async () => {
    const { client, server, ann, bob, signIn } = openWorld()
    server.grantSubscription(ann)
    await signIn(ann)
    server.fail('readSubscription', { delay: 50, tookEffect: true })
    server.fail('readSubscription', { delay: 50 })
    const hook = await renderHook(useSubscription, { client, live: false })
    await act(() => signIn(bob))
    await hook.until(({ data, isLoading }) => data !== undefined && !isLoading)
    expect(hook.current.data?.entitlements).toEqual([])
    expect(hook.seen.some(({ data }) => data?.entitlements.length)).toBe(false)
    await hook.unmount()
  })

  test('keeps the last value while it reloads, and when that fails', async () => {
    const { client, server, ann, signIn } = openWorld()
    server.grantSubscription(ann)
    await signIn(ann)
    const hook = await renderHook(useSubscription, { client, live: false })
    await hook.until(({ data, isLoading }) => data !== undefined && !isLoading)
    const { reload } = hook.current
    hook.seen.length = 0
    server.fail('readSubscription', { code: 'rate_limited', retryAfter: 30 })
    await act(reload)
    expect(hook.current.error).toMatchObject({ code: 'rate_limited', retryAfter: 30 })
    expect(hook.seen.every(({ data }) => data?.entitlements[0]?.active)).toBe(true)
    await act(reload)
    expect(hook.current.error).toBeNull()
    await hook.unmount()
  })
})

test('components that need the same value share one request and one snapshot', async () => {
  const { client, ann, signIn, countReads } = openWorld()
  await signIn(ann)
  const before = countReads('readSubscription')
  const useTwice = () => [useSubscription(), useSubscription()] as const
  const first = await renderHook(useTwice, { client, live: false })
  const second = await renderHook(useSubscription, { client, live: false })
  await first.until(([{ isLoading }]) => !isLoading)
  expect(countReads('readSubscription') - before).toBe(1)
  expect(first.seen.every(([left, right]) => left === right)).toBe(true)
  expect(second.current).toBe(first.current[0])
  await first.unmount()
  await second.unmount()
})

test('useSettings shows changed settings', async () => {
  const { client, server, ann, signIn } = openWorld()
  await signIn(ann)
  const hook = await renderHook(useSettings, { client })
  await hook.until(({ data }) => data?.underMaintenance === false)
  await untilRendered(() => server.countConnections() === 1, 'not 1 streams')
  await act(async () => server.changeContent({ settings: { underMaintenance: true } }))
  await hook.until(({ data }) => data?.underMaintenance === true)
  await hook.unmount()
})

test('a provider that is not live has no connection, and reads changes once it is live again', async () => {
  const { client, server, ann, signIn } = openWorld()
  await signIn(ann)
  const hook = await renderHook(useSubscription, { client })
  await untilRendered(() => server.countConnections() === 1, 'not 1 streams')
  await hook.until(({ data, isLoading }) => data !== undefined && !isLoading)
  await hook.setLive(false)
  await untilRendered(() => server.countConnections() === 0, 'not 0 streams')
  server.grantSubscription(ann)
  expect(hook.current.data?.entitlements).toEqual([])
  await hook.setLive(true)
  await hook.until(({ data }) => data?.entitlements[0]?.active === true)
  await hook.unmount()
  await untilRendered(() => server.countConnections() === 0, 'not 0 streams')
})

describe('useUpload', () => {
  test('reports progress while it runs, and then the stored files', async () => {
    const { client, server, ann, signIn } = openWorld()
    await signIn(ann)
    const hook = await renderHook(useUpload, { client, live: false })
    expect(hook.current).toMatchObject({ isLoading: false, progress: null })
    server.fail('uploadAttachments', { delay: 30 })
    await act(async () => void hook.current.upload({ type: 'supportTicket', files: [FILE] }))
    await hook.until(({ progress }) => progress !== null && progress.sent === progress.total)
    expect(hook.current.isLoading).toBe(true)
    await hook.until(({ isLoading }) => !isLoading)
    const expected = { isLoading: false, progress: null, data: [{ fileName: 'photo.webp' }] }
    expect(hook.current).toMatchObject(expected)
    await hook.unmount()
  })

  test('retries with the same key, because the files may have been stored', async () => {
    const { client, server, ann, signIn } = openWorld()
    await signIn(ann)
    const hook = await renderHook(useUpload, { client, live: false })
    server.fail('uploadAttachments', { code: 'network_error', tookEffect: true })
    await act(() => hook.current.upload({ type: 'supportTicket', files: [FILE] }))
    const failed = { data: undefined, progress: null, error: { code: 'network_error' } }
    expect(hook.current).toMatchObject(failed)
    await act(() => hook.current.retry())
    expect(hook.current).toMatchObject({ data: [{ fileName: 'photo.webp' }], error: null })
    const uploads = server.requests.filter(({ operation }) => operation === 'uploadAttachments')
    const keys = uploads.map(({ headers }) => headers['idempotency-key'])
    expect([keys.length, new Set(keys).size]).toEqual([2, 1])
    await hook.unmount()
  })

  test('the next user neither sees nor sends the previous user’s files', async () => {
    const { client, server, ann, signIn, countReads } = openWorld()
    await signIn(ann)
    const hook = await renderHook(useUpload, { client, live: false })
    server.fail('uploadAttachments', { code: 'network_error' })
    await act(() => hook.current.upload({ type: 'supportTicket', files: [FILE] }))
    expect(hook.current.error).not.toBeNull()
    await act(() => client.logout())
    await act(() => client.startAsGuest())
    expect(hook.current.error).toBeNull()
    expect(await hook.current.retry()).toBeNull()
    expect(countReads('uploadAttachments')).toBe(1)
    await hook.unmount()
  })

  test('can be cancelled', async () => {
    const { client, server, ann, signIn } = openWorld()
    await signIn(ann)
    const hook = await renderHook(useUpload, { client, live: false })
    server.fail('uploadAttachments', { code: 'timeout' })
    await act(async () => void hook.current.upload({ type: 'supportTicket', files: [FILE] }))
    expect(hook.current.isLoading).toBe(true)
    await act(async () => hook.current.cancel())
    await hook.until(({ isLoading }) => !isLoading)
    expect(hook.current.error?.code).toBe('aborted')
    await hook.unmount()
  })
})

test('a hook without a provider reports the missing provider', async () => {
  const rendering = renderHook(useSession, { client: null })
  await expect(rendering).rejects.toThrow('Homeport hooks need a HomeportProvider around them.')
})
