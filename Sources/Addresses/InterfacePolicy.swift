/// The operator's classification of the machine's network interfaces.
///
/// An interface has the classes of all settings that name it. A cellular interface is also expensive, as on Apple's platforms
/// (NWPath.isExpensive).
package struct InterfacePolicy: Sendable, Equatable {
  package struct Fault: Error, Sendable, Equatable {
    package let message: String
  }
  private struct Setting: Sendable, Equatable {
    let name: String
    /// Whether `name` is a prefix of interface names.
    let isPrefix: Bool
    let classes: InterfaceClasses

    func covers(_ interface: String) -> Bool {
      isPrefix ? interface.utf8.starts(with: name.utf8) : interface == name
    }
  }

  private let settings: [Setting]

  /// Makes a policy without classes.
  package init() { settings = [] }

  /// Parses a policy.
  /// - Parameter texts: each an interface's name or a prefix with `*`, then `=`, and classes with commas between them: `wwan*=cellular`,
  ///   `eth1=expensive,constrained`.
  package init(parsing texts: [String]) throws(Fault) {
    var settings: [Setting] = []
    for text in texts { settings.append(try Self.setting(text)) }
    self.settings = settings
  }

  package func classes(of interface: String) -> InterfaceClasses {
    settings.reduce(into: []) { classes, setting in
      if setting.covers(interface) { classes.formUnion(setting.classes) }
    }
  }

  /// All classes that some interface may have.
  package var named: InterfaceClasses { settings.reduce(into: []) { $0.formUnion($1.classes) } }

  private static func setting(_ text: String) throws(Fault) -> Setting {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      throw Fault(message: "\"\(text)\" is not an interface, = and its classes; write it like eth1=expensive")
    }
    let isPrefix = parts[0].hasSuffix("*")
    let name = isPrefix ? parts[0].dropLast() : parts[0]
    guard isPrefix || !name.isEmpty, isName(name) else {
      throw Fault(
        message:
          "\"\(parts[0])\" in \"\(text)\" is not the name of an interface; only its last character may be *")
    }
    var classes: InterfaceClasses = []
    for word in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
      guard let one = InterfaceClass(rawValue: String(word)) else {
        let known = InterfaceClass.allCases.map(\.rawValue).joined(separator: ", ")
        throw Fault(message: "\"\(word)\" in \"\(text)\" is not a class; use one of \(known)")
      }
      classes.insert(InterfaceClasses(one))
    }
    if classes.contains(.cellular) { classes.insert(.expensive) }
    return Setting(name: String(name), isPrefix: isPrefix, classes: classes)
  }

  /// Whether Linux accepts a name (dev_valid_name), excluding names with `*`.
  private static func isName(_ name: Substring) -> Bool {
    name.utf8.count < 16 && name != "." && name != ".."
      && name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"/:*".utf8.contains($0) }
  }
}
