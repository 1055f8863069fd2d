CREATE TABLE "purchased_offers" (
	"environment" text collate "C" NOT NULL,
	"offer" text collate "C" NOT NULL,
	"line_key" text collate "C" NOT NULL,
	CONSTRAINT "purchased_offers_environment_offer_pk" PRIMARY KEY("environment","offer")
);
