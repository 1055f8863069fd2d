import type { Functions, Handled, ReplyTo } from './operations.ts'
import type { FakeRequest } from './requests.ts'

/** A function for each operation that has no example. Its input has the type of the client's function. */
export type Handlers = {
  [Name in Handled]: (
    input: Parameters<Functions[Name]>[0] & object,
    request: FakeRequest,
  ) => ReplyTo[Name] | Promise<ReplyTo[Name]>
}
