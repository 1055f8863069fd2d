import { publicRead } from '../../support/route-case.ts'

export const routes = [publicRead('/api/user/content_version/v1'), publicRead('/api/user/faqs/v1')]
