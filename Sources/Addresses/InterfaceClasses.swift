/// A class of networks that a task may have to avoid. The raw values are the names in NSURLErrorNetworkUnavailableReason.
package enum InterfaceClass: String, Sendable, CaseIterable {
  case cellular, expensive, constrained
}

/// The classes of an interface, or those that a task may use (`allowsCellularAccess`, `allowsExpensiveNetworkAccess`,
/// `allowsConstrainedNetworkAccess` of URLSessionConfiguration and URLRequest).
package struct InterfaceClasses: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package init(_ one: InterfaceClass) {
    switch one {
    case .cellular: self = .cellular
    case .expensive: self = .expensive
    case .constrained: self = .constrained
    }
  }

  /// Makes the set of classes that three switches allow.
  package init(cellular: Bool, expensive: Bool, constrained: Bool) {
    self = []
    if cellular { insert(.cellular) }
    if expensive { insert(.expensive) }
    if constrained { insert(.constrained) }
  }

  package static let cellular = InterfaceClasses(rawValue: 1)
  package static let expensive = InterfaceClasses(rawValue: 2)
  package static let constrained = InterfaceClasses(rawValue: 4)
  package static let all: InterfaceClasses = [.cellular, .expensive, .constrained]

  /// The class to report if several apply: cellular before expensive before constrained.
  package var first: InterfaceClass? { InterfaceClass.allCases.first { contains(InterfaceClasses($0)) } }
}
