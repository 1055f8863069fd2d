import type { DeleteAccount } from '../../../lib/active-subscriptions.ts'
import type { authenticate } from '../../../platform/http/authenticate.ts'
import type { FindCountry, FindIp } from '../../../platform/http/request/client-address.ts'
import type { Retention } from '../pages/templates.ts'
import type { Users } from '../users.ts'

/** The token is optional: guests who send one keep their data. */
export const OPTIONAL_GUEST_TOKEN = [{}, { bearer: [] }]

export type UserRoutesDeps = {
  users: Users
  findIp: FindIp
  findCountry: FindCountry
  findBaseUrl: (request: Request) => string
  signedIn: ReturnType<typeof authenticate>
  deleteAccount: DeleteAccount
  retention: Retention
  appName: string
  chooseLanguage: (request: Request) => string
  translate: (sentence: string, language: string) => string
}
