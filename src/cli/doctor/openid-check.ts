import { discoverOpenId } from '../../features/users/social/openid-keys.ts'
import { createKeySet } from '../../lib/crypto/remote-keys.ts'
import { type Finding, failed, ok } from './check.ts'

export async function checkOpenId(issuer: string): Promise<Finding> {
  const provider = await discoverOpenId(issuer).catch((error: Error) => error)
  if (provider instanceof Error) {
    return failed(
      `sign-in with ${issuer} fails: ${provider.message}`,
      'OIDC_ISSUER must be spelled exactly as in the discovery document. Check the firewall too.',
    )
  }
  const { jwksUrl, algorithms } = provider
  const keys = createKeySet(jwksUrl, 0)
  const problem = await keys.reload().then(
    () => null,
    (error: Error) => error.message,
  )
  const count = keys.jwks()?.keys.length ?? 0
  if (problem === null && count > 0) {
    return ok(`${issuer} answers, and signs with ${algorithms.join(', ')}`)
  }
  return failed(
    `the keys at ${jwksUrl} cannot be read: ${problem ?? 'there are none'}`,
    'Users cannot sign in with this provider. Check the firewall of this machine.',
  )
}
