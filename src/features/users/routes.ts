import { Elysia } from 'elysia'
import { pageRoutes } from './pages/routes.ts'
import { accountRoutes } from './routes/account.ts'
import type { UserRoutesDeps } from './routes/deps.ts'
import { emailCodeRoutes } from './routes/email-code.ts'
import { passkeyRoutes } from './routes/passkeys.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { twoFactorRoutes } from './routes/two-factor.ts'
import { APPLE_ACCOUNT_PATH } from './social/model.ts'

export function userRoutes(deps: UserRoutesDeps) {
  return new Elysia({ name: 'auth' })
    .use(signInRoutes(deps))
    .use(emailCodeRoutes(deps))
    .use(passkeyRoutes(deps))
    .use(accountRoutes(deps))
    .use(twoFactorRoutes(deps))
    .use(pageRoutes(deps))
}

const AUTH_PAGES = ['verify', 'reset', 'cancel', 'invitation'].map((name) => `/auth/${name}`)
export const userPlainPaths = [...AUTH_PAGES, '/account/delete', APPLE_ACCOUNT_PATH]
