/// Settings that had another name. A former name is an error that names the present one.
package enum RenamedSettings {
  /// Returns the present name in the form of the given one: a member of the file, an option, or a variable.
  package static func presentName(of name: String) -> String? {
    let transferLoops = SettingsCatalogue.shared.transferLoops
    return switch name {
    case "workers": transferLoops.member
    case "--workers": transferLoops.option
    case "FERRY_WORKERS": transferLoops.variable
    default: nil
    }
  }
}
