/** Runs `check` before a route's parsers, to which Elysia would append a macro's own. */
export function beforeBody(check: (context: never) => unknown): object {
  return {
    introspect(route: { parse?: unknown }) {
      if (Array.isArray(route.parse)) route.parse.unshift(check)
    },
  }
}
