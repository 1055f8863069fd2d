/** The password of `FOREIGN_HASHES`. */
export const FOREIGN_PASSWORD = 'correct horse battery'

/** Hashes by other programs, and what made them. */
export const FOREIGN_HASHES: [name: string, hash: string][] = [
  ['bcrypt $2a$ (bcryptjs)', '$2a$04$ltP2Wwyy9lAfa9pBU9EVletxsSfUWTAatYDefb89JdX92tLbWd9IO'],
  ['bcrypt $2b$ (bcryptjs)', '$2b$04$GudlZVjNPFLbNXu6XNhzieDQlEmkR0bJF2.JXtrg6dBqObycguwse'],
  ['bcrypt $2y$ (bcryptjs)', '$2y$04$YpB38Zubxt4YBUe0aG6hBeKMu.iIXVa0sZm5qjBE2V0LhPRGJ4BeK'],
  [
    'bcrypt (Go, in PocketBase 0.39.1)',
    '$2a$10$2NbY.nX5foDKbni1V7FgHuLYBUkyW.9iCw.a1KZoaGsT.Gxh5CuqS',
  ],
  ['bcrypt (pgcrypto)', '$2a$10$JmScQW.8TFRvnO2.rzaD7eUMExujZcimyG/e/pv86uOd3PYHI1L.a'],
  [
    'argon2id (Bun)',
    '$argon2id$v=19$m=256,t=2,p=1$79Sjdo1TCqilRuBN+hhxPysLaEWY8gpLTZ6mldd52xY$vae/tYPAqzyfGrvBD9Tpq+Izrw/YxH8oWQKIWxpo0/U',
  ],
  [
    'argon2i (Bun)',
    '$argon2i$v=19$m=256,t=2,p=1$ghVktgCyIn4iSOjrvVOT9eNkb1QyRYMRQatbDlLaud0$zZlZoHq/8W6gDTiB3Z7GUXe/ZBxbAyGozhIQdzFqb1k',
  ],
  [
    'argon2d (Bun)',
    '$argon2d$v=19$m=256,t=2,p=1$p4wpfEUjp3mkOxp3l5bqAQFl6l/zMuFmgGxDYku4rMA$IEOtXBeWWCqnqXazUbWT7aLiT42fNtzYAupu6bjFFN0',
  ],
  [
    'PBKDF2 sha1, phc form (hashlib)',
    '$pbkdf2-sha1$i=1300$AAECAwQFBgcICQoLDA0ODw$Fu0NDMv2a3ZoP/ySslI/v6ZrB+E',
  ],
  [
    'PBKDF2 sha1, passlib form (hashlib)',
    '$pbkdf2$1300$AAECAwQFBgcICQoLDA0ODw$Fu0NDMv2a3ZoP/ySslI/v6ZrB.E',
  ],
  [
    'PBKDF2 sha1, django form (hashlib)',
    'pbkdf2_sha1$1300$seasalt123$XSSrjj/gOX89ldiIGlKxX2C1lAI=',
  ],
  [
    'PBKDF2 sha256, phc form (hashlib)',
    '$pbkdf2-sha256$i=2600$AAECAwQFBgcICQoLDA0ODw$9fgGa4Bafu7nhaGOmji2zVByyHJXQCPpsMAhjTV2y/M',
  ],
  [
    'PBKDF2 sha256, passlib form (hashlib)',
    '$pbkdf2-sha256$2600$AAECAwQFBgcICQoLDA0ODw$9fgGa4Bafu7nhaGOmji2zVByyHJXQCPpsMAhjTV2y/M',
  ],
  [
    'PBKDF2 sha256, django form (hashlib)',
    'pbkdf2_sha256$2600$seasalt123$81FVEsE+dA2G0L+ppfMDAn4/RTkjsqqowS54Tg2pcuM=',
  ],
  [
    'PBKDF2 sha512, phc form (hashlib)',
    '$pbkdf2-sha512$i=1000$AAECAwQFBgcICQoLDA0ODw$ToxFUi5y3fprZRW/V6CupR2uIDYfuy5rlsF9Z4E648lE68lw5lzmucru/HdPvmBJDSLroVh1Q2xCvjqd8NI/6Q',
  ],
  [
    'PBKDF2 sha512, passlib form (hashlib)',
    '$pbkdf2-sha512$1000$AAECAwQFBgcICQoLDA0ODw$ToxFUi5y3fprZRW/V6CupR2uIDYfuy5rlsF9Z4E648lE68lw5lzmucru/HdPvmBJDSLroVh1Q2xCvjqd8NI/6Q',
  ],
  [
    'PBKDF2 sha512, django form (hashlib)',
    'pbkdf2_sha512$1000$seasalt123$tVg1mdyFI1jh3NngDTnHPE0aypKAXl3ODEweKHv6rTEYVOjT6R/WVbektB2jBxqLLXqRunXqlOi0Szr3+IlYZw==',
  ],
  [
    'PBKDF2 sha256, long form (hashlib)',
    '$pbkdf2-sha256$i=2600,l=64$AAECAwQFBgcICQoLDA0ODw$9fgGa4Bafu7nhaGOmji2zVByyHJXQCPpsMAhjTV2y/PKxz0R5wXgXPG8QsU06PWFMpBJN9PwRA5kn0dNJp+COQ',
  ],
]
