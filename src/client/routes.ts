import type { Static } from 'elysia'
import type { Routes, UserExport } from '../server/declarations.ts'
import type { AppSettings, SubmittedPurchases, Subscription } from './models.ts'
import type { PasskeyCredential } from './passkeys.ts'
import type { CallOptions, Input } from './shared-types.ts'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

type Find<Tree, Path extends string> = Path extends `${infer Head}/${infer Rest}`
  ? Head extends keyof Tree
    ? Find<Tree[Head], Rest>
    : never
  : Path extends keyof Tree
    ? Tree[Path]
    : never

/** The route of the server at a path such as `/api/auth/login/v1`; `never` where there is none. */
type Route<M extends Method, P extends string> = P extends `/${infer Path}`
  ? Find<Routes, Path> extends Record<M, infer R>
    ? R
    : never
  : never

/** A path at which the server has a route for this method. */
export type PathOf<M extends Method, P extends string> = [Route<M, P>] extends [never] ? never : P

/** Types that `Routes` loses: the plan belongs to another feature, and Elysia turns an optional record into `{}`. */
type ModelData = {
  '/api/user/app_settings/v1': AppSettings
  '/api/user/export/v1': Static<typeof UserExport>
  '/api/user/purchases/v1': SubmittedPurchases
  '/api/user/subscription/v1': Subscription
}

/** A route's response: its data, or its message if it has no data. */
export type ReplyOf<M extends Method, P extends string> = P extends keyof ModelData
  ? ModelData[P]
  : Route<M, P> extends { response: { 200: infer Reply } }
    ? Reply extends { response: infer Data }
      ? Data
      : Reply extends { message: string }
        ? Omit<Reply, 'code'>
        : never
    : never

type AnyCredential<Body> = Body extends { credential: unknown }
  ? Omit<Body, 'credential'> & { credential: PasskeyCredential }
  : Body

/** A route's input and its location: the body, otherwise the query; or none. */
type InputAt<M extends Method, P extends string> =
  Route<M, P> extends { body: infer Body; query: infer Query }
    ? [keyof Body] extends [never]
      ? [keyof Query] extends [never]
        ? { place: []; input: [] }
        : {
            place: ['query']
            input: object extends Query ? [query?: Input<Query> | undefined] : [Input<Query>]
          }
      : { place: ['json']; input: [Input<AnyCredential<Body>>] }
    : never

export type InputOf<M extends Method, P extends string> = InputAt<M, P>['input']
export type InputPlace<M extends Method, P extends string> = InputAt<M, P>['place']

/** The client function for a route. It takes the input, if there is any, and the call's options. */
export type RouteFunction<M extends Method, P extends string> = (
  ...args: [...InputOf<M, P>, options?: CallOptions | undefined]
) => Promise<ReplyOf<M, P>>

/** Flattens intersections into plain objects, so that equal shapes compare as equal. */
type Flat<T> = T extends (...args: never) => unknown
  ? T
  : T extends object
    ? { [K in keyof T]: Flat<T[K]> }
    : T

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** A function's parameters and result, without parameter names. */
type Shape<F> = F extends (...args: infer Input) => infer Output
  ? Flat<[{ [At in keyof Input]: Input[At] }, Awaited<Output>]>
  : F

/** The names of functions whose input or output differs between `Declared` and `Derived`. */
type Mismatched<Declared, Derived> = {
  [K in keyof (Declared & Derived)]: K extends keyof Declared & keyof Derived
    ? Same<Shape<Declared[K]>, Shape<Derived[K]>> extends true
      ? never
      : K
    : K
}[keyof (Declared & Derived)]

/** Checks that the hand-written function types match those derived from the routes, in `Derived`. */
export type SameAsRoutes<Declared, Derived> = [Mismatched<Declared, Derived>] extends [never]
  ? Derived
  : { theServerDiffersIn: Mismatched<Declared, Derived> & string }
