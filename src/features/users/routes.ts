import { Elysia } from 'elysia'
import { pageRoutes } from './pages/routes.ts'
import { accountRoutes } from './routes/account.ts'
import type { UserRoutesDeps } from './routes/deps.ts'
import { emailCodeRoutes } from './routes/email-code.ts'
import { passkeyRoutes } from './routes/passkeys.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { twoFactorRoutes } from './routes/two-factor.ts'

export function userRoutes(deps: UserRoutesDeps) {
  return new Elysia({ name: 'auth' })
    .use(signInRoutes(deps))
    .use(emailCodeRoutes(deps))
    .use(passkeyRoutes(deps))
    .use(accountRoutes(deps))
    .use(twoFactorRoutes(deps))
    .use(pageRoutes(deps))
}
