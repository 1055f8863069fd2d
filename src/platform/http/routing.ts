import type { AnyElysia } from 'elysia'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** The methods that `path` supports, for 405 and `Allow`; none for an unknown path. */
export function allowedMethodsOf(app: AnyElysia, path: string): string[] {
  const { http } = app.router
  const here = app.routes.filter((route) => route.path === path).map(({ method }) => method)
  const answers = (method: string) => here.includes(method) || http.find(method, path) !== null
  return METHODS.filter((method) => answers(method) || (method === 'HEAD' && answers('GET')))
}
