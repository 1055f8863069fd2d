import { test } from 'bun:test'
import { useUsage } from 'homeport-client/react'
import { openWorld, renderHook } from '../../support/render-hooks.ts'

test('useUsage reads the usage', async () => {
  const { client, server, ann, signIn } = openWorld()
  server.setUsage(ann, { aiMonthlyCreditLimit: 3 })
  await signIn(ann)
  const hook = await renderHook(useUsage, { client })
  await hook.until(({ data }) => data?.some(({ used }) => used === 3) ?? false)
  await hook.unmount()
})
