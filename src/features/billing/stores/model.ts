import { t } from 'elysia'

export const APP_STORE_PATH = '/api/webhooks/app-store/v1'

/** The body that Apple posts. Apple may add fields. */
export const AppStoreNotification = t.Object(
  {
    signedPayload: t.String({
      description: 'the notification, signed by the App Store (JWS)',
      examples: ['eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AA'],
    }),
  },
  {
    additionalProperties: true,
    title: 'AppStoreNotification',
    description: 'an App Store Server Notification, version 2',
  },
)
