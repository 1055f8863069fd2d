import type { AnyElysia } from 'elysia'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** The methods that `path` supports, for 405 and `Allow`; none for an unknown path. */
export function allowedMethodsOf(app: AnyElysia, path: string): string[] {
  const { http } = app.router
  const declared = app.routes.filter((route) => route.path === path).map(({ method }) => method)
  const supports = (method: string) => declared.includes(method) || http.find(method, path) !== null
  return METHODS.filter((method) => supports(method) || (method === 'HEAD' && supports('GET')))
}
