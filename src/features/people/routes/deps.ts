import type { authenticate } from '../../../http/authenticate.ts'
import type { IpOf } from '../../../http/client-ip.ts'
import type { People } from '../people.ts'

/** What the routes of this feature share. */
export type PeopleRoutesDeps = {
  people: People
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
