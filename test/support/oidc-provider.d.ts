declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  /** An OpenID Connect provider; the package has no types. */
  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
  }
}
