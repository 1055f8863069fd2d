import { Elysia, type TSchema } from 'elysia'
import type { DeleteAccount } from '../../../lib/active-subscriptions.ts'
import type { authenticate } from '../../../platform/http/authenticate.ts'
import { json } from '../../../platform/http/body/body.ts'
import { createDataSchema, data, responses } from '../../../platform/http/replies/envelope.ts'
import { withoutReadOnly, withReadOnly } from '../../../platform/http/request/read-only.ts'
import { readInitialLocale, readTimezone } from '../../../platform/http/request/request-headers.ts'
import { DeletionReply, deletionReply, ProfilePatch, UserProfile } from './model.ts'
import type { Profile } from './service.ts'

const PATH = '/api/user/profile/v1'
const tags = ['Profile']

type ProfileRoutesDeps = {
  profile: Profile
  deleteAccount: DeleteAccount
  exportData: (userId: string) => Promise<Record<string, unknown>>
  exportSchema: TSchema
  findBaseUrl: (request: Request) => string
  signedIn: ReturnType<typeof authenticate>
}

export function profileRoutes(deps: ProfileRoutesDeps) {
  const { profile, deleteAccount, exportData, exportSchema, findBaseUrl, signedIn } = deps
  return new Elysia({ name: 'profile' })
    .use(signedIn)
    .get(
      PATH,
      async ({ session, request }) =>
        data(await profile.read(session.userId, findBaseUrl(request))),
      {
        signedIn: true,
        response: responses(createDataSchema(UserProfile), 400, 401),
        detail: {
          tags,
          operationId: 'readProfile',
          summary: 'Read your profile',
          description: 'The signed-in user’s profile.',
        },
      },
    )
    .patch(
      PATH,
      async ({ session, body, request }) => {
        const { headers } = request
        const { userId } = session
        const baseUrl = findBaseUrl(request)
        const defaults = { locale: readInitialLocale(headers), timezone: readTimezone(headers) }
        const patch = withoutReadOnly(ProfilePatch, body, await profile.read(userId, baseUrl))
        return data(await profile.change(userId, patch, defaults, baseUrl))
      },
      {
        ...json(withReadOnly(ProfilePatch, UserProfile)),
        signedIn: true,
        response: responses(createDataSchema(UserProfile), 400, 401, 413, 415, 422, 429, 507),
        detail: {
          tags,
          operationId: 'changeProfile',
          summary: 'Change your profile',
          description:
            'A merge patch (RFC 7396): absent fields stay, `null` restores the default. Other fields of the profile are accepted if they are unchanged.',
        },
      },
    )
    .delete(
      PATH,
      async ({ session }) => {
        return deletionReply(await deleteAccount(session.userId))
      },
      {
        signedIn: true,
        parse: 'none',
        response: responses(DeletionReply, 400, 401, 507),
        detail: {
          tags,
          operationId: 'deleteProfile',
          summary: 'Delete the account',
          description:
            'Immediate and permanent: removes sessions, files and personal data. Stores keep charging for `activeSubscriptions`.',
        },
      },
    )
    .get('/api/user/export/v1', async ({ session }) => data(await exportData(session.userId)), {
      signedIn: true,
      response: responses(createDataSchema(exportSchema), 400, 401),
      detail: {
        tags,
        operationId: 'exportData',
        summary: 'Everything stored about the user',
        description: 'One object with one member per kind of data.',
      },
    })
}
