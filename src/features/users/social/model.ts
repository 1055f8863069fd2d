import { t } from 'elysia'

export const APPLE_ACCOUNT_PATH = '/api/webhooks/apple-account/v1'
/** The body that Apple posts. Apple may add fields. */
export const AppleAccountNotification = t.Object(
  {
    payload: t.String({
      description: 'the notification, signed by Apple (JWS)',
      examples: ['eyJhbGciOiJSUzI1NiJ9.eyJldmVudHMiOiJ7fSJ9.c2lnbmF0dXJl'],
    }),
  },
  {
    additionalProperties: true,
    title: 'AppleAccountNotification',
    description: 'a server-to-server notification of Sign in with Apple',
  },
)
