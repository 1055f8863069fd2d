import type { DeleteAccount } from '../../../lib/active-subscriptions.ts'
import type { authenticate } from '../../../platform/http/authenticate.ts'
import type { FindCountry, FindIp } from '../../../platform/http/request/client-address.ts'
import type { Retention } from '../pages/templates.ts'
import type { Users } from '../users.ts'

/** The token is optional: guests who send one keep their data. */
export const OPTIONAL_GUEST_TOKEN = [{}, { bearer: [] }]

/** The dependencies of all routes of this feature. */
export type UserRoutesDeps = {
  users: Users
  findIp: FindIp
  findCountry: FindCountry
  /** The base of file URLs. */
  findBaseUrl: (request: Request) => string
  signedIn: ReturnType<typeof authenticate>
  deleteAccount: DeleteAccount
  retention: Retention
  /** The name of the app on pages. */
  appName: string
  /** The language of the pages for a request. */
  chooseLanguage: (request: Request) => string
  /** Translates a sentence into a language. */
  translate: (sentence: string, language: string) => string
}
