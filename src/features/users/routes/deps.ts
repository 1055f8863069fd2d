import type { authenticate } from '../../../platform/http/authenticate.ts'
import type { IpOf } from '../../../platform/http/client-ip.ts'
import type { Users } from '../users.ts'

/** What the routes of this feature share. */
export type UserRoutesDeps = {
  users: Users
  ipOf: IpOf
  /** What URLs of files begin with. */
  baseUrlOf: (request: Request) => string
  signedIn: ReturnType<typeof authenticate>
  deleteAccount: (userId: string) => Promise<void>
  /** What pages call the app. */
  appName: string
  /** The language of pages that suits a request, and a sentence in it. */
  languageOf: (request: Request) => string
  translate: (sentence: string, language: string) => string
}
