import type { authenticate } from '../../../http/authenticate.ts'
import type { AddressOf } from '../../../http/client-ip.ts'
import type { Auth } from '../service.ts'

/** What the routes of this feature share. */
export type AuthRoutesDeps = {
  auth: Auth
  addressOf: AddressOf
  signedIn: ReturnType<typeof authenticate>
  /** The user of a bearer token where one was sent, who may be a guest; null without a token. */
  guestOf: (token: string | undefined, sealed: boolean) => Promise<string | null>
  removeAccount: (userId: string) => Promise<void>
}
