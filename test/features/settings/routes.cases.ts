import { publicRead } from '../../support/route-case.ts'

export const routes = [publicRead('/api/user/app_settings/v1')]
