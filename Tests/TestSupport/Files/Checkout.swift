package import Foundation

/// The checkout that the tests were built from.
package enum Checkout {
  package static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
}
