CREATE TABLE "alerts" (
	"rule" text collate "C" PRIMARY KEY NOT NULL,
	"is_on" boolean NOT NULL,
	"threshold" double precision,
	"breached_since" bigint,
	"fired_at" bigint,
	"calm_since" bigint,
	"value" double precision
);
