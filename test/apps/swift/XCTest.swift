// The signatures of XCTest that docs/client-swift.md uses.

open class XCTestCase {}

public func XCTFail(_ message: String) {}
public func XCTAssertFalse(_ value: Bool) {}
public func XCTAssertEqual<Value: Equatable>(_ left: Value, _ right: Value) {}
