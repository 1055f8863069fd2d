// The models of Homeport 0.1.0, generated from the server's schemas. Later servers only add members.
import Foundation

/// Any JSON value.
public enum JSONValue: Codable, Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public init(from decoder: Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSONValue].self))
        }
    }

    public func encode(to encoder: Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .number(let number):
            if let integer = Int(exactly: number) { try value.encode(integer) } else { try value.encode(number) }
        case .string(let string): try value.encode(string)
        case .array(let array): try value.encode(array)
        case .object(let object): try value.encode(object)
        }
    }
}

/// A member of a change: `null` restores the default, and an omitted member stays unchanged.
public enum Nullable<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    case null
    case value(Value)

    public init(from decoder: Decoder) throws {
        let single = try decoder.singleValueContainer()
        self = single.decodeNil() ? .null : .value(try single.decode(Value.self))
    }

    public func encode(to encoder: Encoder) throws {
        var single = encoder.singleValueContainer()
        switch self {
        case .null: try single.encodeNil()
        case .value(let value): try single.encode(value)
        }
    }
}

extension KeyedDecodingContainer {
    /// Without this, `null` would decode as an omitted member.
    public func decodeIfPresent<Value>(_ type: Nullable<Value>.Type, forKey key: Key) throws -> Nullable<Value>? {
        contains(key) ? try decode(type, forKey: key) : nil
    }
}

/// A subscription that continues at its store.
public struct ActiveSubscription: Codable, Equatable, Sendable {
    /// The store.
    public var store: String?
    /// The product at the store.
    public var productId: String?
    /// When the period ends, ISO 8601.
    public var expiresAt: String?
    /// Whether the store keeps charging.
    public var willRenew: Bool
    /// Where to cancel; nil: where it was bought.
    public var managementUrl: String?

    public init(
        store: String? = nil,
        productId: String? = nil,
        expiresAt: String? = nil,
        willRenew: Bool,
        managementUrl: String? = nil
    ) {
        self.store = store
        self.productId = productId
        self.expiresAt = expiresAt
        self.willRenew = willRenew
        self.managementUrl = managementUrl
    }
}

/// The settings of the app, evaluated for the device and the user.
public struct AppSettings: Codable, Equatable, Sendable {
    /// The e-mail address where users get help.
    public var supportEmail: String
    /// The app in the Play Store.
    public var playStoreLink: String
    /// The app in the App Store.
    public var appStoreLink: String
    /// The terms of use.
    public var termsUrl: String
    /// The privacy policy.
    public var privacyUrl: String
    /// The versions of the app on one platform.
    public var ios: AppVersions
    /// The versions of the app on one platform.
    public var android: AppVersions
    /// Whether apps ask users to come back later.
    public var underMaintenance: Bool
    /// Whether apps require a subscription.
    public var hardPaywall: Bool
    /// Custom settings of this app, evaluated for the request; absent if there are none.
    public var features: [String: JSONValue]?

    public init(
        supportEmail: String,
        playStoreLink: String,
        appStoreLink: String,
        termsUrl: String,
        privacyUrl: String,
        ios: AppVersions,
        android: AppVersions,
        underMaintenance: Bool,
        hardPaywall: Bool,
        features: [String: JSONValue]? = nil
    ) {
        self.supportEmail = supportEmail
        self.playStoreLink = playStoreLink
        self.appStoreLink = appStoreLink
        self.termsUrl = termsUrl
        self.privacyUrl = privacyUrl
        self.ios = ios
        self.android = android
        self.underMaintenance = underMaintenance
        self.hardPaywall = hardPaywall
        self.features = features
    }
}

/// A purchase in the App Store.
public struct AppStorePurchase: Codable, Equatable, Sendable {
    /// The store: `app_store`.
    public var store: String = "app_store"
    /// The transaction as StoreKit signed it (`jwsRepresentation`).
    public var signedTransaction: String

    public init(signedTransaction: String) {
        self.signedTransaction = signedTransaction
    }
}

/// The versions of the app on one platform.
public struct AppVersions: Codable, Equatable, Sendable {
    /// The newest version in the store; older apps offer the update.
    public var latestVersion: String
    /// Its build number; compared only in apps of the same version.
    public var latestBuildNumber: Int
    /// The oldest supported version; older apps must be updated.
    public var supportedVersion: String
    /// Its build number; compared only in apps of the same version.
    public var supportedBuildNumber: Int

    public init(
        latestVersion: String,
        latestBuildNumber: Int,
        supportedVersion: String,
        supportedBuildNumber: Int
    ) {
        self.latestVersion = latestVersion
        self.latestBuildNumber = latestBuildNumber
        self.supportedVersion = supportedVersion
        self.supportedBuildNumber = supportedBuildNumber
    }
}

/// A stored file.
public struct Attachment: Codable, Equatable, Sendable {
    /// Identifies the file.
    public var key: String
    /// As sent, cleaned, with the extension of the stored type.
    public var fileName: String
    /// Media type of the stored file.
    public var itemType: String
    /// The URL of the file: permanent for a public one, valid for 15 minutes for a private one.
    public var url: String

    public init(key: String, fileName: String, itemType: String, url: String) {
        self.key = key
        self.fileName = fileName
        self.itemType = itemType
        self.url = url
    }
}

/// The details of a file.
public struct AttachmentDetails: Codable, Equatable, Sendable {
    /// Identifies the file.
    public var key: String
    /// As sent, cleaned, with the extension of the stored type.
    public var fileName: String
    /// Media type of the stored file.
    public var itemType: String
    /// Bytes of the stored file.
    public var size: Int
    /// In pixels; only for images.
    public var width: Int?
    /// In pixels; only for images.
    public var height: Int?
    /// The URL of the file: permanent for a public one, valid for 15 minutes for a private one.
    public var url: String
    /// When `url` expires; nil for a public file.
    public var expiresAt: Date?
    /// When it was stored.
    public var createdAt: Date

    public init(
        key: String,
        fileName: String,
        itemType: String,
        size: Int,
        width: Int? = nil,
        height: Int? = nil,
        url: String,
        expiresAt: Date? = nil,
        createdAt: Date
    ) {
        self.key = key
        self.fileName = fileName
        self.itemType = itemType
        self.size = size
        self.width = width
        self.height = height
        self.url = url
        self.expiresAt = expiresAt
        self.createdAt = createdAt
    }
}

/// A page on which the user pays.
public struct Checkout: Codable, Equatable, Sendable {
    /// Stripe’s page.
    public var url: String
    /// The id of the checkout session.
    public var sessionId: String
    /// When the page expires.
    public var expiresAt: Date
    /// The length of the free trial; 0 for none.
    public var trialDays: Int
    /// When access from elsewhere that does not renew ends; nil for none.
    public var overlapUntil: Date?

    public init(
        url: String,
        sessionId: String,
        expiresAt: Date,
        trialDays: Int,
        overlapUntil: Date? = nil
    ) {
        self.url = url
        self.sessionId = sessionId
        self.expiresAt = expiresAt
        self.trialDays = trialDays
        self.overlapUntil = overlapUntil
    }
}

/// A plan to sell by card.
public struct CheckoutRequest: Codable, Equatable, Sendable {
    /// The `code` of the plan.
    public var plan: String
    /// Where the user returns after paying; Stripe adds `session_id`.
    public var successUrl: String
    /// Where the user returns without paying.
    public var cancelUrl: String
    /// How many units, such as seats.
    public var quantity: Int?
    /// The sandbox for tests; production by default.
    public var environment: String?
    /// Sell although a subscription in another store renews; ask the user first.
    public var allowSecond: Bool?

    public init(
        plan: String,
        successUrl: String,
        cancelUrl: String,
        quantity: Int? = nil,
        environment: String? = nil,
        allowSecond: Bool? = nil
    ) {
        self.plan = plan
        self.successUrl = successUrl
        self.cancelUrl = cancelUrl
        self.quantity = quantity
        self.environment = environment
        self.allowSecond = allowSecond
    }
}

/// A version counter per kind of content: read the content again when its counter increases.
public struct ContentVersions: Codable, Equatable, Sendable {
    /// Increases with every edit to the settings.
    public var appSetting: Int
    /// Increases with every edit to the FAQs.
    public var faqs: Int

    public init(appSetting: Int, faqs: Int) {
        self.appSetting = appSetting
        self.faqs = faqs
    }
}

/// E-mail address and password for a sign-in.
public struct Credentials: Codable, Equatable, Sendable, CustomStringConvertible {
    /// Case-insensitive, shown as typed.
    public var email: String
    /// Used as typed, in any Unicode normalization form.
    public var password: String

    public init(email: String, password: String) {
        self.email = email
        self.password = password
    }

    public var description: String { "Credentials" }
}

/// Currency rates.
public struct CurrencyRates: Codable, Equatable, Sendable {
    /// ISO 4217, upper case.
    public var baseCode: String
    /// Units of each currency (ISO 4217, upper case) for one unit of the base, which is included as 1.
    public var rates: [String: Double]
    /// When the provider published them.
    public var updatedAt: Date

    public init(baseCode: String, rates: [String: Double], updatedAt: Date) {
        self.baseCode = baseCode
        self.rates = rates
        self.updatedAt = updatedAt
    }
}

/// A signed-in device.
public struct Device: Codable, Equatable, Sendable {
    /// Id of the session (UUIDv7).
    public var id: String
    /// The name the device reports.
    public var device: String
    /// When it signed in.
    public var createdAt: Date
    /// When it was last used.
    public var lastUsedAt: Date
    /// Whether this request came from it.
    public var current: Bool

    private enum CodingKeys: String, CodingKey {
        case id = "_id"
        case device
        case createdAt
        case lastUsedAt
        case current
    }

    public init(id: String, device: String, createdAt: Date, lastUsedAt: Date, current: Bool) {
        self.id = id
        self.device = device
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.current = current
    }
}

/// The code that the user has entered.
public struct EmailCodeAnswer: Codable, Equatable, Sendable, CustomStringConvertible {
    /// From the response to the request for the code.
    public var requestToken: String
    /// Six digits.
    public var code: String
    /// The user’s name.
    public var name: String?

    public init(requestToken: String, code: String, name: String? = nil) {
        self.requestToken = requestToken
        self.code = code
        self.name = name
    }

    public var description: String { "EmailCodeAnswer" }
}

/// A code is on its way, if the address can receive one.
public struct EmailCodeRequest: Codable, Equatable, Sendable, CustomStringConvertible {
    /// Send it with the code, which works only on this device.
    public var requestToken: String
    /// Seconds until the code expires.
    public var expiresIn: Int

    public init(requestToken: String, expiresIn: Int) {
        self.requestToken = requestToken
        self.expiresIn = expiresIn
    }

    public var description: String { "EmailCodeRequest" }
}

/// An entitlement that a purchase grants.
public struct Entitlement: Codable, Equatable, Sendable {
    /// The id at the billing provider, such as `pro`.
    public var id: String
    /// Whether the user has access now.
    public var active: Bool
    /// When access ends; nil: never.
    public var expiresAt: Date?
    /// When the grace period after a failed payment ends; nil: there is none.
    public var gracePeriodExpiresAt: Date?
    /// The product at the store.
    public var productId: String?
    /// The store: `APP_STORE`, `MAC_APP_STORE`, `PLAY_STORE`, `AMAZON`, `STRIPE`, `RC_BILLING`, `PROMOTIONAL`. Later versions may add others.
    public var store: String?
    /// The type of the current period: `NORMAL`, `TRIAL`, `INTRO`, `PROMOTIONAL`, `PREPAID`, `CONSUMABLE`. Later versions may add others.
    public var periodType: String?
    /// Whether it renews automatically.
    public var willRenew: Bool

    public init(
        id: String,
        active: Bool,
        expiresAt: Date? = nil,
        gracePeriodExpiresAt: Date? = nil,
        productId: String? = nil,
        store: String? = nil,
        periodType: String? = nil,
        willRenew: Bool
    ) {
        self.id = id
        self.active = active
        self.expiresAt = expiresAt
        self.gracePeriodExpiresAt = gracePeriodExpiresAt
        self.productId = productId
        self.store = store
        self.periodType = periodType
        self.willRenew = willRenew
    }
}

/// A question with its answer, in one language.
public struct Faq: Codable, Equatable, Sendable {
    /// Id of the question (UUIDv7).
    public var id: String
    /// The question in the user’s words.
    public var question: String
    /// Plain text.
    public var answer: String
    /// The group it is listed in.
    public var category: String

    private enum CodingKeys: String, CodingKey {
        case id = "_id"
        case question
        case answer
        case category
    }

    public init(id: String, question: String, answer: String, category: String) {
        self.id = id
        self.question = question
        self.answer = answer
        self.category = category
    }
}

/// What a user has used of a limit.
public struct LimitUsage: Codable, Equatable, Sendable {
    /// The name of a limit of a plan, such as `aiMonthlyCreditLimit`.
    public var name: String
    /// The period that the limit is for: `month`, `day`, `total`. Later versions may add others.
    public var period: String
    /// Used in the current period.
    public var used: Int
    /// The limit of the plan; nil: unlimited.
    public var limit: Int?
    /// What is left; nil: unlimited.
    public var remaining: Int?
    /// When the next period begins; nil: never.
    public var resetsAt: Date?

    public init(
        name: String,
        period: String,
        used: Int,
        limit: Int? = nil,
        remaining: Int? = nil,
        resetsAt: Date? = nil
    ) {
        self.name = name
        self.period = period
        self.used = used
        self.limit = limit
        self.remaining = remaining
        self.resetsAt = resetsAt
    }
}

/// A file in a list of files.
public struct ListedAttachment: Codable, Equatable, Sendable {
    /// Identifies the file.
    public var key: String
    /// As sent, cleaned, with the extension of the stored type.
    public var fileName: String
    /// Media type of the stored file.
    public var itemType: String
    /// The URL of the file: permanent for a public one, valid for 15 minutes for a private one.
    public var url: String
    /// The `type` of its upload: `supportTicket`, `publicAsset`. Later versions may add others.
    public var type: String
    /// Bytes of the stored file.
    public var size: Int
    /// When `url` expires; nil for a public file.
    public var expiresAt: Date?
    /// When it was stored.
    public var createdAt: Date

    public init(
        key: String,
        fileName: String,
        itemType: String,
        url: String,
        type: String,
        size: Int,
        expiresAt: Date? = nil,
        createdAt: Date
    ) {
        self.key = key
        self.fileName = fileName
        self.itemType = itemType
        self.url = url
        self.type = type
        self.size = size
        self.expiresAt = expiresAt
        self.createdAt = createdAt
    }
}

/// The data for a new account.
public struct NewAccount: Codable, Equatable, Sendable, CustomStringConvertible {
    /// An e-mail address, case-insensitive, shown as typed.
    public var email: String
    /// 8 to 256 characters, and not a common one.
    public var password: String
    /// The user’s name.
    public var name: String?
    /// The `token` from the link in an invitation; needed with `SIGN_UP=invite`.
    public var invitation: String?

    public init(email: String, password: String, name: String? = nil, invitation: String? = nil) {
        self.email = email
        self.password = password
        self.name = name
        self.invitation = invitation
    }

    public var description: String { "NewAccount" }
}

/// A passkey of the user.
public struct Passkey: Codable, Equatable, Sendable {
    /// The id of the passkey.
    public var id: String
    /// A name by which the user recognizes the passkey.
    public var name: String
    /// When it was added.
    public var createdAt: Date
    /// When it was last used; nil for never.
    public var lastUsedAt: Date?

    private enum CodingKeys: String, CodingKey {
        case id = "_id"
        case name
        case createdAt
        case lastUsedAt
    }

    public init(id: String, name: String, createdAt: Date, lastUsedAt: Date? = nil) {
        self.id = id
        self.name = name
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
    }
}

/// The limits of the plan.
public struct PlanLimits: Codable, Equatable, Sendable {
    /// Users.
    public var seatLimit: Int
    /// Apps.
    public var appLimit: Int
    /// Keywords.
    public var keywordLimit: Int
    /// API requests per month.
    public var apiRequestLimit: Int
    /// Competitors per app.
    public var competitorLimitPerApp: Int
    /// AI credits per month.
    public var aiMonthlyCreditLimit: Int
    /// Storefronts.
    public var storefrontLimit: Int

    public init(
        seatLimit: Int,
        appLimit: Int,
        keywordLimit: Int,
        apiRequestLimit: Int,
        competitorLimitPerApp: Int,
        aiMonthlyCreditLimit: Int,
        storefrontLimit: Int
    ) {
        self.seatLimit = seatLimit
        self.appLimit = appLimit
        self.keywordLimit = keywordLimit
        self.apiRequestLimit = apiRequestLimit
        self.competitorLimitPerApp = competitorLimitPerApp
        self.aiMonthlyCreditLimit = aiMonthlyCreditLimit
        self.storefrontLimit = storefrontLimit
    }
}

/// A purchase on Google Play.
public struct PlayStorePurchase: Codable, Equatable, Sendable {
    /// The store: `play_store`.
    public var store: String = "play_store"
    /// The package name of the app.
    public var packageName: String
    /// The purchase token that Play Billing gave the app.
    public var purchaseToken: String
    /// The product.
    public var productId: String?
    /// Whether it is a subscription or a one-time product.
    public var kind: String?

    public init(packageName: String, purchaseToken: String, productId: String? = nil, kind: String? = nil) {
        self.packageName = packageName
        self.purchaseToken = purchaseToken
        self.productId = productId
        self.kind = kind
    }
}

/// A visit to the customer portal.
public struct PortalRequest: Codable, Equatable, Sendable {
    /// Where the user returns.
    public var returnUrl: String
    /// What the page begins with; an overview by default.
    public var flow: String?
    /// The sandbox for tests; production by default.
    public var environment: String?

    public init(returnUrl: String, flow: String? = nil, environment: String? = nil) {
        self.returnUrl = returnUrl
        self.flow = flow
        self.environment = environment
    }
}

/// A pricing plan in one language.
public struct PricingPlan: Codable, Equatable, Sendable {
    /// Id of the plan (UUIDv7).
    public var id: String
    /// The id of the plan; never change it.
    public var code: String
    /// The name that users see.
    public var name: String
    /// The kind of plan.
    public var type: String
    /// The billing period: `month`, `3 months`, `P1Y`, `lifetime` and so on.
    public var duration: String
    /// Where it is sold.
    public var source: String
    /// The product at the store or the billing provider; empty for none.
    public var paymentProductId: String
    /// The price at the billing provider; empty for none.
    public var paymentPriceId: String
    /// Length of the free trial.
    public var trialDays: Int
    /// What the plan unlocks.
    public var capabilities: [String]
    /// How many users may share it.
    public var seatLimit: Int
    /// Apps.
    public var appLimit: Int
    /// Keywords.
    public var keywordLimit: Int
    /// API requests per month.
    public var apiRequestLimit: Int
    /// Competitors per app.
    public var competitorLimitPerApp: Int
    /// AI credits per month.
    public var aiMonthlyCreditLimit: Int
    /// Storefronts.
    public var storefrontLimit: Int
    /// In `currency`.
    public var price: Double
    /// ISO 4217, in upper or lower case; responses have lower case.
    public var currency: String
    /// Whether it is sold by the sales team.
    public var isEnterprise: Bool
    /// One sentence about it.
    public var description: String
    /// A short label such as Popular; empty for none.
    public var badge: String
    /// Whether apps highlight it.
    public var highlighted: Bool
    /// What the plan includes, line by line.
    public var features: [String]
    /// Additional product ids for this plan, for example in other stores.
    public var otherProductIds: [String]?
    /// The entitlements that purchases from stores grant; the code of the plan if absent.
    public var entitlementIds: [String]?
    /// Every limit of the plan by name; nil: unlimited.
    public var limits: [String: Int?]
    /// The periods of the custom limits; `month` if absent.
    public var limitPeriods: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case id = "_id"
        case code
        case name
        case type
        case duration
        case source
        case paymentProductId
        case paymentPriceId
        case trialDays
        case capabilities
        case seatLimit
        case appLimit
        case keywordLimit
        case apiRequestLimit
        case competitorLimitPerApp
        case aiMonthlyCreditLimit
        case storefrontLimit
        case price
        case currency
        case isEnterprise
        case description
        case badge
        case highlighted
        case features
        case otherProductIds
        case entitlementIds
        case limits
        case limitPeriods
    }

    public init(
        id: String,
        code: String,
        name: String,
        type: String,
        duration: String,
        source: String,
        paymentProductId: String,
        paymentPriceId: String,
        trialDays: Int,
        capabilities: [String],
        seatLimit: Int,
        appLimit: Int,
        keywordLimit: Int,
        apiRequestLimit: Int,
        competitorLimitPerApp: Int,
        aiMonthlyCreditLimit: Int,
        storefrontLimit: Int,
        price: Double,
        currency: String,
        isEnterprise: Bool,
        description: String,
        badge: String,
        highlighted: Bool,
        features: [String],
        otherProductIds: [String]? = nil,
        entitlementIds: [String]? = nil,
        limits: [String: Int?],
        limitPeriods: [String: String]? = nil
    ) {
        self.id = id
        self.code = code
        self.name = name
        self.type = type
        self.duration = duration
        self.source = source
        self.paymentProductId = paymentProductId
        self.paymentPriceId = paymentPriceId
        self.trialDays = trialDays
        self.capabilities = capabilities
        self.seatLimit = seatLimit
        self.appLimit = appLimit
        self.keywordLimit = keywordLimit
        self.apiRequestLimit = apiRequestLimit
        self.competitorLimitPerApp = competitorLimitPerApp
        self.aiMonthlyCreditLimit = aiMonthlyCreditLimit
        self.storefrontLimit = storefrontLimit
        self.price = price
        self.currency = currency
        self.isEnterprise = isEnterprise
        self.description = description
        self.badge = badge
        self.highlighted = highlighted
        self.features = features
        self.otherProductIds = otherProductIds
        self.entitlementIds = entitlementIds
        self.limits = limits
        self.limitPeriods = limitPeriods
    }
}

/// Absent fields stay; null restores the default.
public struct ProfileChanges: Codable, Equatable, Sendable {
    /// Absent fields stay; null restores every default.
    public var profile: Nullable<Profile>?
    /// Null restores false.
    public var onboardingCompleted: Nullable<Bool>?

    public init(profile: Nullable<Profile>? = nil, onboardingCompleted: Nullable<Bool>? = nil) {
        self.profile = profile
        self.onboardingCompleted = onboardingCompleted
    }

    /// Absent fields stay; null restores every default.
    public struct Profile: Codable, Equatable, Sendable {
        /// Up to 100 characters; null clears it.
        public var name: Nullable<String>?
        /// BCP 47; null takes it from the request headers.
        public var locale: Nullable<String>?
        /// IANA, in upper or lower case, or an offset; null takes it from the request headers.
        public var timezone: Nullable<String>?
        /// ISO 4217, in upper or lower case; null restores usd.
        public var currency: Nullable<String>?
        /// The key of one of the user’s public images; null removes it.
        public var avatarKey: Nullable<String>?

        public init(
            name: Nullable<String>? = nil,
            locale: Nullable<String>? = nil,
            timezone: Nullable<String>? = nil,
            currency: Nullable<String>? = nil,
            avatarKey: Nullable<String>? = nil
        ) {
            self.name = name
            self.locale = locale
            self.timezone = timezone
            self.currency = currency
            self.avatarKey = avatarKey
        }
    }
}

/// The result for a submitted purchase.
public struct PurchaseResult: Codable, Equatable, Sendable {
    /// The outcome: `bound` and `known` mean that the user has the purchase, newly or already; finish the transaction then. `checking`: the store cannot be queried now; the server keeps trying for three days. `pending`: the purchase is not paid yet: `bound`, `known`, `checking`, `pending`, `refused`. Later versions may add others.
    public var outcome: String
    /// Why it is refused: `purchase_of_another`, `purchase_invalid`, `purchase_of_other_app`, `purchase_gone`, `sandbox_ignored`, `store_not_set_up`. Later versions may add others.
    public var code: String?
    /// When `takeOver` can first move another user’s purchase; nil: never.
    public var canTakeOverAt: Date?
    /// The id of the transaction at the store.
    public var transactionId: String?
    /// Production or test purchases: `production`, `sandbox`. Later versions may add others.
    public var environment: String?
    /// The product at the store.
    public var productId: String?
    /// When the period of the transaction ends; nil: never, or unknown.
    public var expiresAt: Date?

    public init(
        outcome: String,
        code: String? = nil,
        canTakeOverAt: Date? = nil,
        transactionId: String? = nil,
        environment: String? = nil,
        productId: String? = nil,
        expiresAt: Date? = nil
    ) {
        self.outcome = outcome
        self.code = code
        self.canTakeOverAt = canTakeOverAt
        self.transactionId = transactionId
        self.environment = environment
        self.productId = productId
        self.expiresAt = expiresAt
    }
}

/// Codes that replace the authenticator app.
public struct RecoveryCodes: Codable, Equatable, Sendable, CustomStringConvertible {
    /// Ten single-use codes; they are not shown again.
    public var recoveryCodes: [String]

    public init(recoveryCodes: [String]) {
        self.recoveryCodes = recoveryCodes
    }

    public var description: String { "RecoveryCodes" }
}

/// A device’s tokens and the signed-in user.
public struct Session: Codable, Equatable, Sendable, CustomStringConvertible {
    /// JWT (RFC 9068), signed with ES256: `Authorization: Bearer <accessToken>`.
    public var accessToken: String
    /// Opaque; replaced with every use.
    public var refreshToken: String
    /// The scheme of the access token: `Bearer`. Later versions may add others.
    public var tokenType: String
    /// Seconds until the access token expires.
    public var expiresIn: Int
    /// A user.
    public var user: UserProfile

    public init(
        accessToken: String,
        refreshToken: String,
        tokenType: String,
        expiresIn: Int,
        user: UserProfile
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.tokenType = tokenType
        self.expiresIn = expiresIn
        self.user = user
    }

    public var description: String { "Session" }
}

/// The data for a sign-in with an identity provider.
public struct SocialLogin: Codable, Equatable, Sendable, CustomStringConvertible {
    /// The identity provider; `oidc` is the OpenID Connect provider of the server’s configuration.
    public var provider: String
    /// The id token (JWT) that the provider gave the app.
    public var idToken: String
    /// The nonce that the app passed to the provider, before hashing; optional unless the server requires it.
    public var nonce: String?
    /// The user’s name, cut to 100 characters; Apple sends it only at the first sign-in.
    public var name: String?
    /// From Apple; needed to revoke the grant when the account is deleted.
    public var authorizationCode: String?
    /// The redirect URI of the code, if it was issued to a Services ID of Apple.
    public var redirectUri: String?
    /// Needed if two-factor is on: an authenticator code, or a recovery code.
    public var code: String?

    public init(
        provider: String,
        idToken: String,
        nonce: String? = nil,
        name: String? = nil,
        authorizationCode: String? = nil,
        redirectUri: String? = nil,
        code: String? = nil
    ) {
        self.provider = provider
        self.idToken = idToken
        self.nonce = nonce
        self.name = name
        self.authorizationCode = authorizationCode
        self.redirectUri = redirectUri
        self.code = code
    }

    public var description: String { "SocialLogin" }
}

/// A purchase by card.
public struct StripePurchase: Codable, Equatable, Sendable {
    /// The store: `stripe`.
    public var store: String = "stripe"
    /// The id of the checkout session, from the address to which the user returned.
    public var sessionId: String

    public init(sessionId: String) {
        self.sessionId = sessionId
    }
}

/// A purchase that a store has confirmed to the app.
public enum SubmittedPurchase: Codable, Equatable, Sendable {
    case appStorePurchase(AppStorePurchase)
    case playStorePurchase(PlayStorePurchase)
    case stripePurchase(StripePurchase)

    public init(from decoder: Decoder) throws {
        if let value = try? AppStorePurchase(from: decoder) { self = .appStorePurchase(value); return }
        if let value = try? PlayStorePurchase(from: decoder) { self = .playStorePurchase(value); return }
        self = .stripePurchase(try StripePurchase(from: decoder))
    }

    public func encode(to encoder: Encoder) throws {
        switch self {
        case .appStorePurchase(let value): try value.encode(to: encoder)
        case .playStorePurchase(let value): try value.encode(to: encoder)
        case .stripePurchase(let value): try value.encode(to: encoder)
        }
    }
}

/// The results, and what the user has paid for now.
public struct SubmittedPurchases: Codable, Equatable, Sendable {
    /// One result per purchase, in order.
    public var results: [PurchaseResult]
    /// What a user has paid for.
    public var subscription: Subscription

    public init(results: [PurchaseResult], subscription: Subscription) {
        self.results = results
        self.subscription = subscription
    }
}

/// What a user has paid for.
public struct Subscription: Codable, Equatable, Sendable {
    /// Production or test purchases: `production`, `sandbox`. Later versions may add others.
    public var environment: String
    /// Each entitlement once; check these for access.
    public var entitlements: [Entitlement]
    /// The purchases, best first.
    public var subscriptions: [SubscriptionLine]
    /// The plan of the best active purchase; without one, the plan `free`, or nil if there is none.
    public var plan: PricingPlan?
    /// The limits of the plan; nil if there is no plan.
    public var limits: PlanLimits?
    /// The user’s access, signed (JWS); only if requested.
    public var proof: String?

    public init(
        environment: String,
        entitlements: [Entitlement],
        subscriptions: [SubscriptionLine],
        plan: PricingPlan? = nil,
        limits: PlanLimits? = nil,
        proof: String? = nil
    ) {
        self.environment = environment
        self.entitlements = entitlements
        self.subscriptions = subscriptions
        self.plan = plan
        self.limits = limits
        self.proof = proof
    }
}

/// A purchase.
public struct SubscriptionLine: Codable, Equatable, Sendable {
    /// The product at the store.
    public var productId: String?
    /// The price at the billing provider.
    public var priceId: String?
    /// The store: `APP_STORE`, `MAC_APP_STORE`, `PLAY_STORE`, `AMAZON`, `STRIPE`, `RC_BILLING`, `PROMOTIONAL`. Later versions may add others.
    public var store: String?
    /// The status of the purchase: `trialing`, `active`, `in_grace_period`, `in_billing_retry`, `paused`, `expired`, `refunded`, `consumed`. Later versions may add others.
    public var status: String
    /// The type of the current period: `NORMAL`, `TRIAL`, `INTRO`, `PROMOTIONAL`, `PREPAID`, `CONSUMABLE`. Later versions may add others.
    public var periodType: String?
    /// When the current period began.
    public var purchasedAt: Date?
    /// When the current period ends; nil: never.
    public var expiresAt: Date?
    /// When access ends, grace and refunds included; nil: never.
    public var effectiveEndAt: Date?
    /// Whether it renews automatically.
    public var willRenew: Bool
    /// The product after a pending change.
    public var pendingProductId: String?
    /// Why it was cancelled: `UNSUBSCRIBE`, `BILLING_ERROR`, `DEVELOPER_INITIATED`, `PRICE_INCREASE`, `CUSTOMER_SUPPORT`, `DISPUTED`, `UNKNOWN`. Later versions may add others.
    public var cancelReason: String?
    /// When it was cancelled.
    public var unsubscribeDetectedAt: Date?
    /// When a payment failed.
    public var billingIssueDetectedAt: Date?
    /// When it was refunded.
    public var refundedAt: Date?
    /// When a pause ends.
    public var autoResumeAt: Date?
    /// A test purchase, which gives access to testers in production.
    public var isSandbox: Bool?

    public init(
        productId: String? = nil,
        priceId: String? = nil,
        store: String? = nil,
        status: String,
        periodType: String? = nil,
        purchasedAt: Date? = nil,
        expiresAt: Date? = nil,
        effectiveEndAt: Date? = nil,
        willRenew: Bool,
        pendingProductId: String? = nil,
        cancelReason: String? = nil,
        unsubscribeDetectedAt: Date? = nil,
        billingIssueDetectedAt: Date? = nil,
        refundedAt: Date? = nil,
        autoResumeAt: Date? = nil,
        isSandbox: Bool? = nil
    ) {
        self.productId = productId
        self.priceId = priceId
        self.store = store
        self.status = status
        self.periodType = periodType
        self.purchasedAt = purchasedAt
        self.expiresAt = expiresAt
        self.effectiveEndAt = effectiveEndAt
        self.willRenew = willRenew
        self.pendingProductId = pendingProductId
        self.cancelReason = cancelReason
        self.unsubscribeDetectedAt = unsubscribeDetectedAt
        self.billingIssueDetectedAt = billingIssueDetectedAt
        self.refundedAt = refundedAt
        self.autoResumeAt = autoResumeAt
        self.isSandbox = isSandbox
    }
}

/// The first step is done; a code is needed.
public struct TwoFactorChallenge: Codable, Equatable, Sendable, CustomStringConvertible {
    /// Valid for this sign-in only.
    public var challengeToken: String
    /// The accepted two-factor methods.
    public var methods: [String]
    /// Seconds until the challenge expires.
    public var expiresIn: Int

    public init(challengeToken: String, methods: [String], expiresIn: Int) {
        self.challengeToken = challengeToken
        self.methods = methods
        self.expiresIn = expiresIn
    }

    public var description: String { "TwoFactorChallenge" }
}

/// A secret for an authenticator app, in three forms; it takes effect once it is confirmed.
public struct TwoFactorSetup: Codable, Equatable, Sendable, CustomStringConvertible {
    /// Base32, to type into an authenticator app.
    public var secret: String
    /// The secret as a link for authenticator apps.
    public var otpauthUrl: String
    /// The secret as a QR code, in SVG.
    public var qrSvg: String

    public init(secret: String, otpauthUrl: String, qrSvg: String) {
        self.secret = secret
        self.otpauthUrl = otpauthUrl
        self.qrSvg = qrSvg
    }

    public var description: String { "TwoFactorSetup" }
}

/// The documents of the app and its servers for the signed-in user.
public struct UserData: Codable, Equatable, Sendable {
    /// The document that the app writes; empty until the first change.
    public var data: [String: JSONValue]
    /// Changes with `data`: send it to change only the document that was read; the part of the `ETag` before the dot.
    public var version: String
    /// When `data` was last changed; nil if it never was.
    public var updatedAt: Date?
    /// The document that servers write; the app can only read it.
    public var serverData: [String: JSONValue]
    /// Changes with `serverData`.
    public var serverVersion: String

    public init(
        data: [String: JSONValue],
        version: String,
        updatedAt: Date? = nil,
        serverData: [String: JSONValue],
        serverVersion: String
    ) {
        self.data = data
        self.version = version
        self.updatedAt = updatedAt
        self.serverData = serverData
        self.serverVersion = serverVersion
    }
}

/// A user.
public struct UserProfile: Codable, Equatable, Sendable {
    /// Id of the user: pass it to the billing SDK as the app user id (UUIDv7).
    public var id: String
    /// How the account was created: `email`, `google`, `apple`, `oidc`, `passkey`, `guest`. Later versions may add others.
    public var loginType: String
    /// As entered; empty for a guest.
    public var email: String
    /// Whether the address is verified.
    public var emailVerified: Bool
    /// The fields that the user can change.
    public var profile: Profile
    /// The state of two-factor authentication.
    public var twoFactor: TwoFactor
    /// Stored for the app.
    public var onboardingCompleted: Bool

    private enum CodingKeys: String, CodingKey {
        case id = "_id"
        case loginType
        case email
        case emailVerified
        case profile
        case twoFactor
        case onboardingCompleted
    }

    public init(
        id: String,
        loginType: String,
        email: String,
        emailVerified: Bool,
        profile: Profile,
        twoFactor: TwoFactor,
        onboardingCompleted: Bool
    ) {
        self.id = id
        self.loginType = loginType
        self.email = email
        self.emailVerified = emailVerified
        self.profile = profile
        self.twoFactor = twoFactor
        self.onboardingCompleted = onboardingCompleted
    }

    /// The fields that the user can change.
    public struct Profile: Codable, Equatable, Sendable {
        /// Empty until it is set.
        public var name: String
        /// BCP 47, such as `pt-BR`.
        public var locale: String
        /// IANA name such as `Europe/Berlin`, `utc`, or an offset such as `+05:30`.
        public var timezone: String
        /// ISO 4217 in lower case, such as `usd`.
        public var currency: String
        /// The user’s avatar; nil for none.
        public var avatarUrl: String?

        public init(
            name: String,
            locale: String,
            timezone: String,
            currency: String,
            avatarUrl: String? = nil
        ) {
            self.name = name
            self.locale = locale
            self.timezone = timezone
            self.currency = currency
            self.avatarUrl = avatarUrl
        }
    }

    /// The state of two-factor authentication.
    public struct TwoFactor: Codable, Equatable, Sendable {
        /// Whether two-factor authentication is on.
        public var enabled: Bool
        /// The accepted two-factor methods; empty while two-factor is off.
        public var methods: [String]
        /// Recovery codes not used yet.
        public var recoveryCodesLeft: Int

        public init(enabled: Bool, methods: [String], recoveryCodesLeft: Int) {
            self.enabled = enabled
            self.methods = methods
            self.recoveryCodesLeft = recoveryCodesLeft
        }
    }
}
