// The signatures of StoreKit 2 that the pages for Swift use, from Apple's reference.
@_exported import Foundation
import SwiftUI

public struct Product: Identifiable, Sendable {
    public struct PurchaseOption: Hashable, Sendable {
        public static func appAccountToken(_ token: UUID) -> PurchaseOption { fatalError() }
    }

    public enum PurchaseResult: Sendable {
        case success(VerificationResult<Transaction>)
        case userCancelled
        case pending
    }

    public let id: String
    public let displayName: String
    public let displayPrice: String
    public static func products(for ids: some Collection<String>) async throws -> [Product] { fatalError() }
    @MainActor public func purchase(options: Set<PurchaseOption> = []) async throws -> PurchaseResult { fatalError() }
}

public enum VerificationResult<SignedType: Sendable>: Sendable {
    case unverified(SignedType, any Error)
    case verified(SignedType)
    public var unsafePayloadValue: SignedType { fatalError() }
}

extension VerificationResult where SignedType == Transaction {
    public var jwsRepresentation: String { fatalError() }
}

public struct Transaction: Identifiable, Sendable {
    public struct Transactions: AsyncSequence, Sendable {
        public typealias Element = VerificationResult<Transaction>
        public struct AsyncIterator: AsyncIteratorProtocol {
            public mutating func next() async -> Element? { nil }
        }
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }

    public let id: UInt64
    public static var updates: Transactions { fatalError() }
    public static var unfinished: Transactions { fatalError() }
    public static var currentEntitlements: Transactions { fatalError() }
    public func finish() async {}
}

public struct AppTransaction: Sendable {
    public let environment: AppStore.Environment
    public static var shared: VerificationResult<AppTransaction> {
        get async throws { fatalError() }
    }
}

public enum AppStore {
    public struct Environment: Equatable, Sendable {
        public static var production: Environment { fatalError() }
    }

    public static func sync() async throws {}
}

public enum StoreKitError: Error {
    case userCancelled
    case notAvailableInStorefront
}

extension View {
    @MainActor public func manageSubscriptionsSheet(isPresented: Binding<Bool>) -> some View { self }
}
