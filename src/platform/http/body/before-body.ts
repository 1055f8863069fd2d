/**
 * The part of a macro that runs `check` before a route's own parsers, so that a stranger's body is never parsed.
 * Elysia would append a parser of the macro to them.
 */
export function beforeBody(check: (context: never) => unknown): object {
  return {
    introspect(route: { parse?: unknown }) {
      if (Array.isArray(route.parse)) route.parse.unshift(check)
    },
  }
}
