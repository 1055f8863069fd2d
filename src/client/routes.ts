import type { Routes } from '../server/app.ts'

export type Method = 'get' | 'post' | 'patch' | 'delete'

type Find<Tree, Path extends string> = Path extends `${infer Head}/${infer Rest}`
  ? Head extends keyof Tree
    ? Find<Tree[Head], Rest>
    : never
  : Path extends keyof Tree
    ? Tree[Path]
    : never

/** The route of the server at a path such as `/api/auth/login/v1`; `never` where there is none. */
export type Route<M extends Method, P extends string> = P extends `/${infer Path}`
  ? Find<Routes, Path> extends Record<M, infer R>
    ? R
    : never
  : never

/** The JSON body that a route takes; a type without fields for none. */
type BodyOf<M extends Method, P extends string> =
  Route<M, P> extends { body: infer Body } ? Body : never

/** The query that a route takes. */
type QueryOf<M extends Method, P extends string> =
  Route<M, P> extends { query: infer Query } ? Query : never

/** What a route answers: its data, or its message. */
export type ReplyOf<M extends Method, P extends string> =
  Route<M, P> extends { response: { 200: infer Reply } }
    ? Reply extends { response: infer Data }
      ? Data
      : Reply extends { message: string }
        ? { message: string }
        : never
    : never

/** The arguments of a route's function: its body, else its query, else nothing. */
export type InputOf<M extends Method, P extends string> = [keyof BodyOf<M, P>] extends [never]
  ? [keyof QueryOf<M, P>] extends [never]
    ? []
    : object extends QueryOf<M, P>
      ? [query?: QueryOf<M, P>]
      : [query: QueryOf<M, P>]
  : [body: BodyOf<M, P>]
