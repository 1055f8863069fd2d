// The signatures of SwiftUI that the pages for Swift use, from Apple's reference.
@_exported import Combine
@_exported import Foundation

@MainActor @preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { return fatalError() }
}

public protocol Primitive: View where Body == Never {}

extension Primitive {
    public var body: Never { return fatalError() }
}

public struct AnyViews: Primitive {
    nonisolated init() {}
}

@resultBuilder
public enum ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> AnyViews { AnyViews() }
    public static func buildEither(first: some View) -> AnyViews { AnyViews() }
    public static func buildEither(second: some View) -> AnyViews { AnyViews() }
    public static func buildOptional(_ content: AnyViews?) -> AnyViews { AnyViews() }
}

@MainActor @preconcurrency
public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}

extension App {
    public static func main() { fatalError() }
}

@MainActor @preconcurrency
public protocol Scene {}

@resultBuilder
public enum SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

public struct WindowGroup: Scene {
    public init(@ViewBuilder content: () -> some View) {}
}

public enum ScenePhase: Comparable, Sendable {
    case background, inactive, active
}

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { fatalError() }
}

@propertyWrapper
public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}

@MainActor @preconcurrency @propertyWrapper
public struct StateObject<Object: ObservableObject> {
    nonisolated public init(wrappedValue: @autoclosure @escaping () -> Object) {}
    public var wrappedValue: Object { fatalError() }
    public var projectedValue: Bindings<Object> { fatalError() }
}

@MainActor @preconcurrency @propertyWrapper
public struct EnvironmentObject<Object: ObservableObject> {
    nonisolated public init() {}
    public var wrappedValue: Object { fatalError() }
    public var projectedValue: Bindings<Object> { fatalError() }
}

@dynamicMemberLookup
public struct Bindings<Object> {
    public subscript<Value>(dynamicMember path: ReferenceWritableKeyPath<Object, Value>) -> Binding<Value> { fatalError() }
}

public struct Binding<Value> {}

@propertyWrapper
public struct State<Value> {
    public init(wrappedValue: Value) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { fatalError() }
}

@propertyWrapper
public struct SceneStorage<Value> {
    public init(wrappedValue: Value, _ key: String) where Value == String {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
}

public struct VStack: Primitive {
    public init(@ViewBuilder content: () -> some View) {}
}

public struct List: Primitive {
    public init(@ViewBuilder content: () -> some View) {}
}

public struct ForEach: Primitive {
    public init<Data: RandomAccessCollection>(
        _ data: Data, id: KeyPath<Data.Element, some Hashable>, @ViewBuilder content: @escaping (Data.Element) -> some View
    ) {}
    public init<Data: RandomAccessCollection>(
        _ data: Data, @ViewBuilder content: @escaping (Data.Element) -> some View
    ) where Data.Element: Identifiable {}
}

public struct Text: Primitive {
    public init(_ text: String) {}
}

public struct ButtonRole: Sendable {
    public static var cancel: ButtonRole { fatalError() }
}

public struct Button: Primitive {
    public init(_ title: String, role: ButtonRole? = nil, action: @escaping @MainActor () -> Void) {}
}

public struct TextField: Primitive {
    public init(_ title: String, text: Binding<String>) {}
}

public struct ProgressView: Primitive {
    public init() {}
}

public enum Visibility { case visible }

extension View {
    public func environmentObject(_ object: some ObservableObject) -> some View { self }
    public func task(_ action: @escaping @MainActor () async -> Void) -> some View { self }
    public func task(id: some Equatable, _ action: @escaping @MainActor () async -> Void) -> some View { self }
    public func onChange<Value: Equatable>(of value: Value, perform action: @escaping (Value) -> Void) -> some View { self }
    public func confirmationDialog(
        _ title: String, isPresented: Binding<Bool>, titleVisibility: Visibility, @ViewBuilder actions: () -> some View
    ) -> some View { self }
}
